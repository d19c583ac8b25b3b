import { floatConversion } from './format-spec.ts';
import { raise } from './jinja-error.ts';
import { intText } from './number-text.ts';
import { escaped, Str, StrBuilder } from './str.ts';
import { repr, textOf } from './text-of.ts';
import {
  type Context,
  Dict,
  integerOf,
  List,
  numberOf,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from './values.ts';

/** Maximum width or precision that a template may request. */
const MOST = 1 << 12;
const DIRECTIVE = /%(?:\(([^)]*)\))?([-+ #0]*)(\*|\d+)?(?:\.(\*|\d*))?[hlL]?([^])/y;

/** Python's `format % value`. */
export function percentFormat(format: Str, value: Value, context: Context): Str {
  return new PercentFormatter(format, value, context).run();
}

class PercentFormatter {
  readonly #format: Str;
  readonly #value: Value;
  readonly #context: Context;
  readonly #positional: readonly Value[];
  #used = 0;

  constructor(format: Str, value: Value, context: Context) {
    this.#format = format;
    this.#value = value;
    this.#context = context;
    this.#positional = value instanceof Tuple ? value.items : [value];
  }

  run(): Str {
    const { text, safe } = this.#format;
    const out = new StrBuilder(this.#context.budget);
    let at = 0;
    for (let next = text.indexOf('%'); next >= 0; next = text.indexOf('%', at)) {
      out.add(this.#format.cut(at, next));
      DIRECTIVE.lastIndex = next;
      const found = DIRECTIVE.exec(text);
      if (!found) raise('incomplete format');
      at = DIRECTIVE.lastIndex;
      out.add(this.#directive(found, next));
    }
    out.add(this.#format.cut(at));
    const isMapping = [Dict, List, Undefined].some((type) => this.#value instanceof type);
    if (this.#used < this.#positional.length && !isMapping) {
      raise('not all arguments converted during string formatting');
    }
    return out.done(safe);
  }

  #directive(found: RegExpExecArray, at: number): Str {
    const [, key, flags = '', widthText, precisionText, type = ''] = found;
    if (type === '%') return this.#format.cut(at, at + 1);
    const width = this.#size(widthText);
    const precision = precisionText === undefined ? undefined : this.#size(precisionText);
    const value = key === undefined ? this.#next() : this.#named(key);
    const converted = this.#converted(value, type, flags, precision);
    return this.#padded(converted, flags, width, 'srac'.includes(type));
  }

  #size(text: string | undefined): number {
    const size = text === '*' ? integerOf(this.#next()) : Number(text || 0);
    if (Math.abs(size) > MOST) raise('width too big');
    return size;
  }

  #next(): Value {
    const value = this.#positional[this.#used++];
    return value === undefined ? raise('not enough arguments for format string') : value;
  }

  #named(name: string): Value {
    if (!(this.#value instanceof Dict)) raise('format requires a mapping');
    this.#used = 1;
    const value = this.#value.named(name);
    return value === undefined ? raise(`'${name}'`) : value;
  }

  #converted(value: Value, type: string, flags: string, precision: number | undefined): Str {
    const context = this.#context;
    if ('sra'.includes(type)) {
      const text = type === 's' ? textOf(value, context) : repr(value, context);
      const str = this.#format.safe ? escaped(text, context.budget) : text;
      return precision === undefined ? str : str.cut(0, str.offsetOf(Math.min(precision, str.length)));
    }
    if (type === 'c' && value instanceof Str && value.length === 1) return value;
    const number = numberOf(value);
    if (number === undefined) raise(`%${type} format: a real number is required, not ${typeName(value)}`);
    // A character given by its number belongs to the source of the number.
    if (type === 'c') return Str.outside(String.fromCodePoint(Number(number)));
    return Str.written(signOf(number, flags) + sizeText(number, type, flags, precision));
  }

  #padded(str: Str, flags: string, width: number, isText: boolean): Str {
    const missing = Math.max(0, Math.abs(width) - str.length);
    const out = new StrBuilder(this.#context.budget);
    if (flags.includes('-') || width < 0) return out.add(str).addText(' '.repeat(missing), false).done();
    if (!flags.includes('0') || isText) return out.addText(' '.repeat(missing), false).add(str).done();
    const sign = /^[-+ ]?(?:0[xXo])?/.exec(str.text)?.[0].length ?? 0;
    return out.add(str.cut(0, sign)).addText('0'.repeat(missing), true).add(str.cut(sign)).done();
  }
}

function signOf(number: bigint | number, flags: string): string {
  if (number < 0 || Object.is(number, -0)) return '-';
  return flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '';
}

function sizeText(
  number: bigint | number,
  type: string,
  flags: string,
  precision: number | undefined,
): string {
  if ('eEfFgG'.includes(type)) {
    const size = Math.abs(Number(number));
    if (Number.isFinite(size)) return floatConversion(size, type, precision, flags.includes('#'));
    return Number.isNaN(size) ? 'nan' : 'inf';
  }
  if (!'diuoxX'.includes(type)) raise(`unsupported format character '${type}'`);
  const isHexadecimal = 'oxX'.includes(type);
  if (typeof number === 'number' && isHexadecimal) {
    raise(`%${type} format: an integer is required, not float`);
  }
  if (typeof number === 'number' && !Number.isFinite(number)) raise('cannot convert float to integer');
  const whole = typeof number === 'bigint' ? number : BigInt(Math.trunc(number));
  const size = whole < 0n ? -whole : whole;
  const digits = isHexadecimal ? size.toString(type === 'o' ? 8 : 16) : intText(size);
  const cased = (type === 'X' ? digits.toUpperCase() : digits).padStart(precision ?? 0, '0');
  return flags.includes('#') && isHexadecimal ? `0${type}${cased}` : cased;
}
