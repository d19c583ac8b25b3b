import { bind } from './arguments.ts';
import type { Filters } from './filter.ts';
import { raise } from './jinja-error.ts';
import { divideHalfEven, fixedText, MAX_BITS } from './number-text.ts';
import { binary, signed } from './operators.ts';
import { asciiDigits, trim } from './python-characters.ts';
import { Str } from './str.ts';
import { textOf } from './text-of.ts';
import { type Args, type Context, integerOf, numberOf, typeName, Undefined, type Value } from './values.ts';

const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz';
const FLOAT = /^[+-]?(?:(?:\d+(?:_\d+)*)?\.?(?:\d+(?:_\d+)*)?(?:e[+-]?\d+(?:_\d+)*)?|inf(?:inity)?|nan)$/i;

/** Python's `int(text, base)`; undefined if the text is not an int. */
function parseInteger(text: string, base: number): bigint | undefined {
  const found = /^([+-]?)(?:0([bBoOxX]))?_?(\w+)$/.exec(trim(text));
  if (!found || text.length > MAX_BITS) return undefined;
  const [, sign, prefix] = found;
  const meant = prefix === undefined ? 10 : { b: 2, o: 8, x: 16 }[prefix.toLowerCase() as 'b' | 'o' | 'x'];
  // In other bases, the letter may be a digit.
  const isPrefix = prefix !== undefined && (base === 0 || base === meant);
  const digits = isPrefix ? (found[3] as string) : `${prefix === undefined ? '' : `0${prefix}`}${found[3]}`;
  const radix = base === 0 ? meant : base;
  if (/__|^_|_$/.test(digits)) return undefined;
  let value = 0n;
  for (const digit of digits.replaceAll('_', '').toLowerCase()) {
    const at = DIGITS.indexOf(digit);
    if (at < 0 || at >= radix) return undefined;
    value = value * BigInt(radix) + BigInt(at);
  }
  return sign === '-' ? -value : value;
}

/** Python's `float(text)`; undefined if the text is not a number. */
function parseFloatText(text: string): number | undefined {
  const bare = trim(text);
  if (!FLOAT.test(bare) || !/\d|inf|nan/i.test(bare)) return undefined;
  const [, sign, word] = /^([+-]?)(.*)$/.exec(bare) as unknown as [string, string, string];
  const size = /^inf/i.test(word)
    ? Number.POSITIVE_INFINITY
    : /^nan/i.test(word)
      ? Number.NaN
      : Number(word.replaceAll('_', ''));
  return Number.isNaN(size) && !/^nan/i.test(word) ? undefined : sign === '-' ? -size : size;
}

function toFloat(value: Value): number | undefined {
  if (value instanceof Undefined) return value.fail();
  if (value instanceof Str) return parseFloatText(asciiDigits(value.text));
  const number = numberOf(value);
  return number === undefined ? undefined : Number(number);
}

function truncated(value: number | undefined): bigint | undefined {
  return value !== undefined && Number.isFinite(value) ? BigInt(Math.trunc(value)) : undefined;
}

function toInteger(value: Value, args: Args): Value {
  const [standard = 0n, base = 10n] = bind('int', args, ['default', 'base']);
  if (value instanceof Str) {
    const radix = Number(numberOf(base) ?? -1);
    const isBase = typeof base !== 'number' && (radix === 0 || (radix >= 2 && radix <= 36));
    const text = asciiDigits(value.text);
    const found = isBase ? parseInteger(text, radix) : undefined;
    return found ?? truncated(parseFloatText(text)) ?? standard;
  }
  const number = typeof value === 'bigint' ? value : truncated(toFloat(value));
  if (number === undefined && typeof value === 'number' && !Number.isNaN(value)) {
    raise('cannot convert float infinity to integer');
  }
  return number ?? standard;
}

function round(value: Value, args: Args, context: Context): Value {
  const [precision = 0n, method = Str.written('common')] = bind('round', args, ['precision', 'method']);
  const how = method instanceof Str ? method.text : '';
  if (!['common', 'ceil', 'floor'].includes(how)) raise('method must be common, ceil or floor');
  if (value instanceof Undefined) value.fail();
  const number = numberOf(value);
  if (number === undefined) return raise(`type ${typeName(value)} doesn't define __round__ method`);
  if (how === 'common') return rounded(number, integerOf(precision));
  const scale = binary('**', 10n, precision, context);
  const scaled = Number(numberOf(binary('*', number, scale, context)));
  const whole = how === 'ceil' ? Math.ceil(scaled) : Math.floor(scaled);
  return binary('/', BigInt(whole), scale, context);
}

function rounded(number: bigint | number, places: number): bigint | number {
  if (typeof number === 'bigint') {
    if (places >= 0) return number;
    const unit = 10n ** BigInt(Math.min(-places, MAX_BITS));
    const size = divideHalfEven(number < 0n ? -number : number, unit) * unit;
    return number < 0n ? -size : size;
  }
  if (!Number.isFinite(number) || places > 323) return number;
  const negative = number < 0 || Object.is(number, -0);
  const size = places >= 0 ? Number(fixedText(number, places)) : roundedWhole(Math.abs(number), -places);
  return negative ? -size : size;
}

function roundedWhole(size: number, zeros: number): number {
  if (zeros > 308) return 0;
  const unit = 10n ** BigInt(zeros);
  // The fractional digits matter only if the rest is exactly one half.
  const whole = BigInt(Math.floor(size));
  const exact = Number.isInteger(size)
    ? divideHalfEven(whole, unit)
    : divideHalfEven(2n * whole + 1n, 2n * unit);
  return Number(exact * unit);
}

const UNITS = ['k', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y'];

function fileSize(value: Value, args: Args, context: Context): Value {
  const [binaryUnits = false] = bind('filesizeformat', args, ['binary']);
  const size = toFloat(value);
  if (size === undefined) return raise(`could not convert to float: ${textOf(value, context).text}`);
  const base = binaryUnits === true ? 1024 : 1000;
  if (size === 1) return Str.written('1 Byte');
  if (size < base) return Str.written(`${Math.trunc(size)} Bytes`);
  const at = UNITS.findIndex((_, i) => size < base ** (i + 2));
  const i = at < 0 ? UNITS.length - 1 : at;
  const unit = base === 1024 ? `${(UNITS[i] as string).toUpperCase()}iB` : `${UNITS[i]}B`;
  return Str.written(`${fixedText((base * size) / base ** (i + 2), 1)} ${unit}`);
}

/** The filters that return numbers, or format them. */
export const NUMBER_FILTERS: Filters = {
  abs(value, args) {
    bind('abs', args, []);
    if (value instanceof Undefined) value.fail();
    const number = numberOf(value);
    if (number === undefined) raise(`bad operand type for abs(): '${typeName(value)}'`);
    return number < 0 || Object.is(number, -0) ? signed('-', number) : number;
  },
  filesizeformat: fileSize,
  float(value, args) {
    const [standard = 0] = bind('float', args, ['default']);
    return toFloat(value) ?? standard;
  },
  int: toInteger,
  round,
};
