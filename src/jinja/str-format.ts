import { formatValue } from './format-spec.ts';
import { raise } from './jinja-error.ts';
import { escaped, Str, StrBuilder } from './str.ts';
import { repr, textOf } from './text-of.ts';
import type { Args, Context, Value } from './values.ts';

/** Maximum nesting of replacement fields in format specifications, as in Python. */
const DEEPEST = 2;

/** Python's `format.format(...)`, whose fields can access no more than the template can. */
export function strFormat(format: Str, args: Args, context: Context): Str {
  return new Formatter(args, context, format.safe).run(format, DEEPEST).marked(format.safe);
}

class Formatter {
  readonly #args: Args;
  readonly #context: Context;
  readonly #safe: boolean;
  #automatic = 0;

  constructor(args: Args, context: Context, safe: boolean) {
    this.#args = args;
    this.#context = context;
    this.#safe = safe;
  }

  run(format: Str, levels: number): Str {
    if (levels < 0) raise('Max string recursion exceeded');
    const { text } = format;
    const out = new StrBuilder(this.#context.budget);
    let at = 0;
    for (let next = nextBrace(text, at); next >= 0; next = nextBrace(text, at)) {
      const doubled = text[next + 1] === text[next];
      out.add(format.cut(at, doubled ? next + 1 : next));
      if (doubled) at = next + 2;
      else if (text[next] === '}') raise("Single '}' encountered in format string");
      else {
        const end = fieldEnd(text, next + 1);
        out.add(this.#field(format.cut(next + 1, end), levels));
        at = end + 1;
      }
    }
    return out.add(format.cut(at)).done();
  }

  #field(field: Str, levels: number): Str {
    const { text } = field;
    const end = nameEnd(text);
    const conversion = text[end] === '!' ? text[end + 1] : undefined;
    const colon = conversion === undefined ? end : end + 2;
    if (colon < text.length && text[colon] !== ':') raise("expected ':' after conversion specifier");
    const spec = this.run(field.cut(Math.min(text.length, colon + 1)), levels - 1).text;
    const value = this.#converted(this.#value(text.slice(0, end)), conversion);
    const formatted = formatValue(value, spec, this.#context);
    return this.#safe ? escaped(formatted, this.#context.budget) : formatted;
  }

  #converted(value: Value, conversion: string | undefined): Value {
    if (conversion === undefined) return value;
    if (conversion === 's') return textOf(value, this.#context);
    if (conversion === 'r' || conversion === 'a') return repr(value, this.#context);
    return raise(`Unknown conversion specifier '${conversion}'`);
  }

  /** The value of `name.attribute[item]`. */
  #value(path: string): Value {
    const first = /^[^.[]*/.exec(path)?.[0] ?? '';
    let value = this.#argument(first);
    for (const [step, attribute, item] of path.slice(first.length).matchAll(/\.([^.[]*)|\[([^\]]*)\]|[^]/g)) {
      if (attribute !== undefined) value = this.#context.attribute(value, attribute);
      else if (item === undefined) raise(`Only '.' or '[' may follow ']' in format field specifier: ${step}`);
      else value = this.#context.item(value, /^\d+$/.test(item) ? BigInt(item) : Str.written(item));
    }
    return value;
  }

  #argument(name: string): Value {
    const { positional, named } = this.#args;
    const isNamed = name !== '' && !/^\d+$/.test(name);
    const at = isNamed ? 0 : name === '' ? this.#automatic++ : Number(name);
    const value = isNamed ? named.get(name) : positional[at];
    if (value !== undefined) return value;
    return raise(isNamed ? `'${name}'` : `Replacement index ${at} out of range for positional args tuple`);
  }
}

function nextBrace(text: string, from: number): number {
  for (let at = from; at < text.length; at++) if (text[at] === '{' || text[at] === '}') return at;
  return -1;
}

/** The position of the brace that closes a field. */
function fieldEnd(text: string, from: number): number {
  let open = 1;
  for (let at = from; at < text.length; at++) {
    if (text[at] === '{') open++;
    if (text[at] === '}' && --open === 0) return at;
  }
  return raise("expected '}' before end of string");
}

function nameEnd(text: string): number {
  let inBrackets = false;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '[') inBrackets = true;
    else if (text[at] === ']') inBrackets = false;
    else if (!inBrackets && (text[at] === '!' || text[at] === ':')) return at;
  }
  return text.length;
}
