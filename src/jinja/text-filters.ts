import { bind, stringOf } from './arguments.ts';
import type { Filter, Filters } from './filter.ts';
import { raise } from './jinja-error.ts';
import { type JsonStyle, toJson } from './json.ts';
import { percentFormat } from './percent-format.ts';
import { escaped, mapPoints, Str, StrBuilder } from './str.ts';
import { capitalize, lower, upper } from './str-case.ts';
import { join, pad, replace, splitFromEnd, splitLines, strip } from './str-pieces.ts';
import { repr, requireString, textOf } from './text-of.ts';
import { wordWrap } from './word-wrap.ts';
import {
  type Args,
  type Context,
  Dict,
  integerOf,
  iterate,
  lengthOf,
  listOf,
  PyObject,
  truth,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from './values.ts';

const plain =
  (name: string, run: (value: Value, context: Context) => Value): Filter =>
  (value, args, context) => {
    bind(name, args, []);
    return run(value, context);
  };

/** Jinja2's `soft_str`: `Markup` is unchanged. */
const soft = textOf;

function indent(value: Value, args: Args, context: Context): Value {
  const [width = 4n, first = false, blank = false] = bind('indent', args, ['width', 'first', 'blank']);
  const str = requireString(value, 'indent');
  const by = width instanceof Str ? width : Str.written(' '.repeat(spaces(width, context)));
  const lines = splitLines(
    new StrBuilder(context.budget).add(str).addText('\n', true).done(),
    false,
    context,
  );
  const builder = new StrBuilder(context.budget);
  if (truth(first, context)) builder.add(by);
  for (const [i, line] of lines.entries()) {
    if (i > 0) builder.addText('\n', true);
    if (i > 0 && (truth(blank, context) || line.text !== '')) builder.add(by);
    builder.add(line);
  }
  return builder.done(str.safe);
}

function spaces(width: Value, context: Context): number {
  const count = Math.max(0, integerOf(width));
  context.budget.checkLength(count);
  return count;
}

function truncate(value: Value, args: Args, context: Context): Value {
  const names = ['length', 'killwords', 'end', 'leeway'];
  const [length = 255n, killWords = false, end = Str.written('...'), leeway = null] = bind(
    'truncate',
    args,
    names,
  );
  const ending = stringOf(end, 'end');
  const most = integerOf(length);
  if (most < ending.length) raise(`expected length >= ${ending.length}, got ${most}`);
  if (lengthOf(value, context) <= most + (leeway === null ? 5 : integerOf(leeway))) return value;
  const str = requireString(value, 'truncate');
  const kept = str.cut(0, str.offsetOf(most - ending.length));
  const shown = truth(killWords, context) ? kept : (splitFromEnd(kept, ' ', 1, context)[0] as Str);
  return new StrBuilder(context.budget).add(shown).add(ending).done(str.safe);
}

const WORD_STARTS = /[-\s({[<]/u;

/** Words start after brackets, hyphens and whitespace. */
function title(value: Value, context: Context): Value {
  let starts = true;
  return mapPoints(
    soft(value, context).marked(false),
    (point) => {
      if (WORD_STARTS.test(point)) {
        starts = true;
        return point;
      }
      const changed = starts ? point.toUpperCase() : point.toLowerCase();
      starts = false;
      return changed;
    },
    context.budget,
  );
}

function joined(value: Value, args: Args, context: Context): Value {
  const [separator = Str.written(''), attribute = null] = bind('join', args, ['d', 'attribute']);
  const get = attributeGetter(attribute, context);
  const pieces: Str[] = [];
  for (const item of iterate(value, context)) pieces.push(textOf(get(item), context));
  return join(textOf(separator, context), pieces, context);
}

/** A function that reads an attribute by its path: `a.b.0`. */
export function attributeGetter(
  path: Value,
  context: Context,
  standard: Value = null,
): (value: Value) => Value {
  if (path === null) return (value) => value;
  const parts =
    path instanceof Str
      ? path.text.split('.').map((part) => (/^\p{Nd}+$/u.test(part) ? BigInt(part) : Str.written(part)))
      : [path];
  return (value) => {
    let found = value;
    for (const part of parts) {
      found = context.item(found, part);
      if (standard !== null && found instanceof Undefined) found = standard;
    }
    return found;
  };
}

function replaced(value: Value, args: Args, context: Context): Value {
  const [old, by, count = null] = bind('replace', args, ['old', 'new', 'count'], 2);
  const most = count === null ? -1 : integerOf(count);
  const text = (of: Value | undefined) => textOf(of as Value, context).marked(false);
  return replace(text(value), text(old), text(by), most, context);
}

function formatted(value: Value, args: Args, context: Context): Value {
  if (args.positional.length > 0 && args.named.size > 0) {
    raise("can't handle positional and keyword arguments at the same time");
  }
  const named = new Dict([...args.named].map(([name, item]) => [Str.written(name), item]));
  return percentFormat(
    soft(value, context),
    args.named.size > 0 ? named : new Tuple(args.positional),
    context,
  );
}

function json(value: Value, args: Args, context: Context): Value {
  const names = ['ensure_ascii', 'indent', 'separators', 'sort_keys'];
  const [ascii = false, indentation = null, separators = null, sortKeys = false] = bind(
    'tojson',
    args,
    names,
  );
  const style: JsonStyle = {
    ensureAscii: truth(ascii, context),
    indent: indentText(indentation, context),
    ...separatorsOf(separators, indentation !== null, context),
    sortKeys: truth(sortKeys, context),
  };
  return toJson(value, style, context);
}

function indentText(value: Value, context: Context): string | undefined {
  if (value === null) return undefined;
  return value instanceof Str ? value.text : ' '.repeat(spaces(value, context));
}

function separatorsOf(value: Value, indented: boolean, context: Context) {
  if (value === null) return { itemSeparator: indented ? ',' : ', ', keySeparator: ': ' };
  const [item, key, ...more] = listOf(value, context);
  if (!(item instanceof Str) || !(key instanceof Str) || more.length > 0) {
    return raise('separators must be two strings');
  }
  return { itemSeparator: item.text, keySeparator: key.text };
}

function stripTags(value: Value, context: Context): Value {
  const { text } = textOf(value, context);
  context.budget.spendText(text.length);
  const bare = withoutTags(withoutComments(text)).split(/\s+/u).filter(Boolean).join(' ');
  return Str.outside(bare.replace(/&(?:#(\d+)|#x([\da-f]+)|(amp|lt|gt|quot|apos|nbsp));/gi, unescapeEntity));
}

/** Uses loops, since regular expressions would search for an end repeatedly. */
function withoutComments(text: string): string {
  return without(text, '<!--', '-->');
}

function withoutTags(text: string): string {
  return without(text, '<', '>');
}

function without(text: string, open: string, close: string): string {
  let kept = '';
  let at = 0;
  for (;;) {
    const start = text.indexOf(open, at);
    const end = start < 0 ? -1 : text.indexOf(close, start + open.length);
    if (end < 0) return kept + text.slice(at);
    kept += text.slice(at, start);
    at = end + close.length;
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\xa0',
};

function unescapeEntity(whole: string, decimal?: string, hexadecimal?: string, name?: string): string {
  if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? whole;
  const code = decimal === undefined ? Number.parseInt(hexadecimal ?? '', 16) : Number(decimal);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
}

const UNQUOTED = /^[A-Za-z0-9_.~-]$/;

function quoted(value: Value, inQuery: boolean, context: Context): Str {
  const encode = (point: string) => {
    if (UNQUOTED.test(point) || (point === '/' && !inQuery)) return point;
    if (point === ' ' && inQuery) return '+';
    return [...new TextEncoder().encode(point)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join('');
  };
  return mapPoints(textOf(value, context).marked(false), encode, context.budget);
}

function urlEncode(value: Value, context: Context): Value {
  const isPairs = value instanceof PyObject && value.iterate(context) !== undefined;
  if (!isPairs) return quoted(value, false, context);
  const pairs =
    value instanceof Dict ? [...value.pairs()] : listOf(value, context).map((pair) => listOf(pair, context));
  const pieces = pairs.map((pair) => {
    if (pair.length !== 2) raise('expected pairs to encode');
    const [key, item] = pair as readonly [Value, Value];
    const builder = new StrBuilder(context.budget).add(quoted(key, true, context)).addText('=', false);
    return builder.add(quoted(item, true, context)).done();
  });
  return join(Str.outside('&'), pieces, context);
}

function xmlAttributes(value: Value, args: Args, context: Context): Value {
  const [space = true] = bind('xmlattr', args, ['autospace']);
  if (!(value instanceof Dict)) return raise(`'${typeName(value)}' object has no attribute 'items'`);
  const builder = new StrBuilder(context.budget);
  for (const [key, item] of value.pairs()) {
    if (item === null || item instanceof Undefined) continue;
    const name = requireString(key, 'xmlattr');
    if (/[\t-\r />=]/.test(name.text))
      raise(`Invalid character in attribute name: ${repr(name, context).text}`);
    if (builder.length > 0 || truth(space, context)) builder.addText(' ', false);
    builder.add(escaped(name, context.budget)).addText('="', false);
    builder.add(escaped(textOf(item, context), context.budget)).addText('"', false);
  }
  return builder.done();
}

const html = (value: Value, context: Context) => escaped(textOf(value, context), context.budget);

/** The filters that return text. */
export const TEXT_FILTERS: Filters = {
  capitalize: plain('capitalize', (value, context) => capitalize(soft(value, context), context.budget)),
  center(value, args, context) {
    const [width = 80n] = bind('center', args, ['width']);
    return pad(soft(value, context), integerOf(width), ' ', 'both', context);
  },
  e: plain('escape', html),
  escape: plain('escape', html),
  forceescape: plain('forceescape', (value, context) => html(textOf(value, context).marked(false), context)),
  format: formatted,
  indent,
  join: joined,
  lower: plain('lower', (value, context) => lower(soft(value, context), context.budget)),
  pprint: plain('pprint', repr),
  replace: replaced,
  safe: plain('safe', (value, context) => textOf(value, context).marked(true)),
  string: plain('string', soft),
  striptags: plain('striptags', stripTags),
  title: plain('title', title),
  tojson: json,
  trim(value, args, context) {
    const [chars = null] = bind('trim', args, ['chars']);
    const str = soft(value, context);
    context.budget.spendText(str.text.length);
    return strip(str, 'both', chars === null ? undefined : stringOf(chars, 'chars').text);
  },
  truncate,
  upper: plain('upper', (value, context) => upper(soft(value, context), context.budget)),
  urlencode: plain('urlencode', urlEncode),
  wordcount: plain('wordcount', (value, context) => {
    const { text } = soft(value, context);
    context.budget.spendText(text.length);
    return BigInt(text.match(/[\p{L}\p{N}_]+/gu)?.length ?? 0);
  }),
  wordwrap: wordWrap,
  xmlattr: xmlAttributes,
  length: plain('length', (value, context) => BigInt(lengthOf(value, context))),
  count: plain('count', (value, context) => BigInt(lengthOf(value, context))),
};
