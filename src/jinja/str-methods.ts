import { bind, bindPositional, stringOf } from './arguments.ts';
import { raise } from './jinja-error.ts';
import type { Method } from './method.ts';
import { isSpace } from './python-characters.ts';
import { escaped, mapPoints, Str, StrBuilder } from './str.ts';
import { capitalize, caseFold, isAllOf, isTitle, lower, swapCase, title, upper } from './str-case.ts';
import { strFormat } from './str-format.ts';
import { join, pad, replace, split, splitFromEnd, splitLines, strip } from './str-pieces.ts';
import {
  type Args,
  type Context,
  Dict,
  integerOf,
  iterate,
  List,
  truth,
  Tuple,
  typeName,
  type Value,
} from './values.ts';

type StrMethod = (str: Str, args: Args, context: Context) => Value;

const stripping =
  (name: string, sides: 'both' | 'left' | 'right'): StrMethod =>
  (str, args, context) => {
    const [chars = null] = bindPositional(name, args, 1);
    context.budget.spendText(str.text.length);
    return strip(str, sides, chars === null ? undefined : stringOf(chars, `${name} arg`).text);
  };

const splitting =
  (name: string, run: typeof split): StrMethod =>
  (str, args, context) => {
    const [separator = null, most = -1n] = bind(name, args, ['sep', 'maxsplit']);
    const text = separator === null ? undefined : stringOf(separator, 'sep').text;
    return new List(run(str, text, integerOf(most), context));
  };

const padding =
  (name: string, sides: 'left' | 'right' | 'both'): StrMethod =>
  (str, args, context) => {
    const [width = 0n, fill] = bindPositional(name, args, 2, 1);
    const character = fill === undefined ? ' ' : stringOf(fill, 'The fill character').text;
    if ([...character].length !== 1) raise('The fill character must be exactly one character long');
    return pad(str, integerOf(width), character, sides, context);
  };

/** Whether the string is not empty and all characters are of a kind. */
const asking =
  (pattern: RegExp): StrMethod =>
  (str, args) => {
    bindPositional('is…', args, 0);
    return str.text !== '' && pattern.test(str.text);
  };

/** A part of the string, by optional indices in code points; undefined if it starts after the end. */
function window(str: Str, start: Value = null, stop: Value = null): [number, number] | undefined {
  const { length } = str;
  const at = (value: Value, standard: number) => {
    if (value === null) return standard;
    const index = integerOf(value);
    return index < 0 ? Math.max(0, index + length) : index;
  };
  const from = at(start, 0);
  if (from > length) return undefined;
  return [str.offsetOf(from), str.offsetOf(Math.min(length, at(stop, length)))];
}

const finding =
  (name: string, fromEnd: boolean): StrMethod =>
  (str, args, context) => {
    const [wanted, start, stop] = bindPositional(name, args, 3, 1);
    const { text } = stringOf(wanted, `${name} arg`);
    context.budget.spendText(str.text.length);
    const range = window(str, start, stop);
    const [from, to] = range ?? [0, -1];
    const inside = str.text.slice(from, Math.max(from, to));
    const at = from > to ? -1 : fromEnd ? inside.lastIndexOf(text) : inside.indexOf(text);
    if (at >= 0) return BigInt(str.pointAt(from + at));
    return name.endsWith('index') ? raise('substring not found') : -1n;
  };

const affix =
  (name: 'startsWith' | 'endsWith'): StrMethod =>
  (str, args, context) => {
    const called = name.toLowerCase();
    const [wanted = null, start, stop] = bindPositional(called, args, 3, 1);
    const wanteds = wanted instanceof Tuple ? wanted.items : [wanted];
    const range = window(str, start, stop);
    if (!range || range[0] > range[1]) return false;
    const inside = str.text.slice(...range);
    context.budget.spend(wanteds.length);
    return wanteds.some((one) => {
      if (!(one instanceof Str)) {
        raise(`${called} first arg must be str or a tuple of str, not ${typeName(one)}`);
      }
      return inside[name](one.text);
    });
  };

const partitioning =
  (name: string, fromEnd: boolean): StrMethod =>
  (str, args, { budget }) => {
    const [wanted] = bindPositional(name, args, 1, 1);
    const { text } = stringOf(wanted, 'sep');
    budget.spendText(str.text.length);
    if (text === '') raise('empty separator');
    const at = fromEnd ? str.text.lastIndexOf(text) : str.text.indexOf(text);
    const nothing = str.cut(0, 0);
    if (at < 0) return new Tuple(fromEnd ? [nothing, nothing, str] : [str, nothing, nothing]);
    const end = at + text.length;
    return new Tuple([str.cut(0, at), str.cut(at, end), str.cut(end)]);
  };

function count(str: Str, args: Args, context: Context): Value {
  const [wanted, start, stop] = bindPositional('count', args, 3, 1);
  const { text } = stringOf(wanted, 'count arg');
  const range = window(str, start, stop);
  if (!range || range[0] > range[1]) return 0n;
  const inside = str.cut(...range);
  context.budget.spendText(inside.text.length);
  return BigInt(text === '' ? inside.length + 1 : inside.text.split(text).length - 1);
}

function joined(str: Str, args: Args, context: Context): Value {
  const [items] = bindPositional('join', args, 1, 1);
  const pieces: Str[] = [];
  for (const item of iterate(items as Value, context)) {
    if (!(item instanceof Str)) {
      raise(`sequence item ${pieces.length}: expected str instance, ${typeName(item)} found`);
    }
    pieces.push(str.safe ? escaped(item, context.budget) : item);
  }
  return join(str, pieces, context).marked(str.safe);
}

function replaced(str: Str, args: Args, context: Context): Value {
  const [old, by, most = -1n] = bindPositional('replace', args, 3, 2);
  return replace(
    str,
    stringOf(old, 'replace() argument 1'),
    stringOf(by, 'replace() argument 2'),
    integerOf(most),
    context,
  );
}

function expandTabs(str: Str, args: Args, context: Context): Value {
  const [size = 8n] = bind('expandtabs', args, ['tabsize']);
  const width = integerOf(size);
  context.budget.checkLength(str.text.length * Math.max(1, width));
  let column = 0;
  return mapPoints(
    str,
    (point) => {
      if (point === '\t') {
        const spaces = width > 0 ? width - (column % width) : 0;
        column += spaces;
        return ' '.repeat(spaces);
      }
      column = point === '\n' || point === '\r' ? 0 : column + 1;
      return point;
    },
    context.budget,
  );
}

function zeroFilled(str: Str, args: Args, context: Context): Value {
  const [width = 0n] = bindPositional('zfill', args, 1, 1);
  const missing = Math.max(0, integerOf(width) - str.length);
  context.budget.checkLength(missing);
  const sign = /^[-+]/.test(str.text) ? 1 : 0;
  const builder = new StrBuilder(context.budget);
  if (sign > 0) builder.add(str.cut(0, 1));
  return builder.addText('0'.repeat(missing), false).add(str.cut(sign)).done(str.safe);
}

function formatMap(str: Str, args: Args, context: Context): Value {
  const [map] = bindPositional('format_map', args, 1, 1);
  if (!(map instanceof Dict)) return raise('format_map() argument must be a mapping');
  const named = new Map<string, Value>();
  for (const [key, value] of map.pairs()) if (key instanceof Str) named.set(key.text, value);
  return strFormat(str, { positional: [], named }, context);
}

const unnamed =
  (name: string, run: (str: Str, context: Context) => Value): StrMethod =>
  (str, args, context) => {
    bindPositional(name, args, 0);
    return run(str, context);
  };

const cased = (name: string, run: (str: Str, budget: Context['budget']) => Value) =>
  unnamed(name, (str, { budget }) => run(str, budget));

const PLAIN: Readonly<Record<string, StrMethod>> = {
  capitalize: cased('capitalize', capitalize),
  casefold: cased('casefold', caseFold),
  center: padding('center', 'both'),
  count,
  endswith: affix('endsWith'),
  expandtabs: expandTabs,
  find: finding('find', false),
  format: strFormat,
  format_map: formatMap,
  index: finding('index', false),
  isalnum: asking(/^[\p{L}\p{N}]*$/u),
  isalpha: asking(/^\p{L}*$/u),
  isascii: unnamed('isascii', (str) => !/[^\0-\x7f]/.test(str.text)),
  isdecimal: asking(/^\p{Nd}*$/u),
  isdigit: asking(/^[\p{Nd}²³¹⁰⁴-⁹₀-₉①-⑨]*$/u),
  isidentifier: asking(/^[\p{XID_Start}_]\p{XID_Continue}*$/u),
  islower: unnamed('islower', (str) => isAllOf(str.text, 'lower')),
  isnumeric: asking(/^\p{N}*$/u),
  isprintable: unnamed('isprintable', (str) => !/[^\P{C} ]|[^\P{Z} ]/u.test(str.text)),
  isspace: unnamed('isspace', (str) => str.text !== '' && [...str.text].every(isSpace)),
  istitle: unnamed('istitle', (str) => isTitle(str.text)),
  isupper: unnamed('isupper', (str) => isAllOf(str.text, 'upper')),
  join: joined,
  ljust: padding('ljust', 'right'),
  lower: cased('lower', lower),
  lstrip: stripping('lstrip', 'left'),
  partition: partitioning('partition', false),
  removeprefix(str, args) {
    const [wanted] = bindPositional('removeprefix', args, 1, 1);
    const { text } = stringOf(wanted, 'removeprefix() argument');
    return text !== '' && str.text.startsWith(text) ? str.cut(text.length) : str;
  },
  removesuffix(str, args) {
    const [wanted] = bindPositional('removesuffix', args, 1, 1);
    const { text } = stringOf(wanted, 'removesuffix() argument');
    return text !== '' && str.text.endsWith(text) ? str.cut(0, str.text.length - text.length) : str;
  },
  replace: replaced,
  rfind: finding('rfind', true),
  rindex: finding('rindex', true),
  rjust: padding('rjust', 'left'),
  rpartition: partitioning('rpartition', true),
  rsplit: splitting('rsplit', splitFromEnd),
  rstrip: stripping('rstrip', 'right'),
  split: splitting('split', split),
  splitlines(str, args, context) {
    const [keepEnds = false] = bind('splitlines', args, ['keepends']);
    return new List(splitLines(str, truth(keepEnds, context), context));
  },
  startswith: affix('startsWith'),
  strip: stripping('strip', 'both'),
  swapcase: cased('swapcase', swapCase),
  title: cased('title', title),
  upper: cased('upper', upper),
  zfill: zeroFilled,
};

/** Methods whose arguments `Markup` escapes. */
const ESCAPING: ReadonlySet<string> = new Set(
  'capitalize title lower upper replace ljust rjust lstrip rstrip center strip expandtabs swapcase zfill partition rpartition'.split(
    ' ',
  ),
);

/** The methods of Python's `str`, and of markupsafe's `Markup`, which escapes its arguments. */
export const STR_METHODS: ReadonlyMap<string, Method> = new Map(
  Object.entries(PLAIN).map(([name, method]) => [
    name,
    (self, args, context) => {
      const str = self as Str;
      // Every method reads each character, some with a regular expression.
      context.budget.spend(str.text.length >> 2);
      if (!str.safe || !ESCAPING.has(name)) return method(str, args, context);
      const safely = (value: Value) => (value instanceof Str ? escaped(value, context.budget) : value);
      return method(str, { ...args, positional: args.positional.map(safely) }, context);
    },
  ]),
);
