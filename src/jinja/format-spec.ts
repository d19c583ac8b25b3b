import { raise } from './jinja-error.ts';
import { exponentialText, exponentText, fixedText, floatText, intText } from './number-text.ts';
import { Str, StrBuilder } from './str.ts';
import { textOf } from './text-of.ts';
import { type Context, numberOf, typeName, type Value } from './values.ts';

/** Maximum precision or width that a template may request. */
const MOST = 1 << 12;
const SPEC = /^(?:([^])?([<>=^]))?([-+ ])?(z)?(#)?(0)?(\d+)?([_,])?(?:\.(\d+))?([a-zA-Z%])?$/u;

interface Spec {
  readonly fill: string;
  readonly align: string | undefined;
  readonly sign: string;
  readonly alternate: boolean;
  readonly width: number;
  readonly grouping: string;
  readonly precision: number | undefined;
  readonly type: string | undefined;
}

function parseSpec(text: string): Spec {
  const found = SPEC.exec(text);
  if (!found) raise('Invalid format specifier');
  const [, fill, align, sign, , alternate, zero, width, grouping, precision, type] = found;
  const size = (digits: string | undefined) => {
    if (Number(digits ?? 0) > MOST) raise('Too many decimal digits in format string');
    return Number(digits ?? 0);
  };
  return {
    fill: fill ?? (zero && !align ? '0' : ' '),
    align: align ?? (zero ? '=' : undefined),
    sign: sign ?? '-',
    alternate: alternate !== undefined,
    width: size(width),
    grouping: grouping ?? '',
    precision: precision === undefined ? undefined : size(precision),
    type,
  };
}

/** Python's `format(value, spec)`. */
export function formatValue(value: Value, spec: string, context: Context): Str {
  if (spec === '') return textOf(value, context);
  const parsed = parseSpec(spec);
  if (value instanceof Str) return formatString(value, parsed, context);
  const number = numberOf(value);
  if (number === undefined) raise(`unsupported format string passed to ${typeName(value)}.__format__`);
  const { sign, prefix, digits } = numberParts(number, parsed);
  const padded = padNumber(sign, prefix, digits, parsed);
  // A character given by its number belongs to the source of the number.
  return parsed.type === 'c' ? Str.outside(padded) : Str.written(padded);
}

function formatString(str: Str, spec: Spec, context: Context): Str {
  if (spec.type !== undefined && spec.type !== 's') {
    raise(`Unknown format code '${spec.type}' for object of type 'str'`);
  }
  if (spec.align === '=') raise("'=' alignment not allowed in string format specifier");
  const length = Math.min(str.length, spec.precision ?? str.length);
  const missing = Math.max(0, spec.width - length);
  const before = spec.align === '>' ? missing : spec.align === '^' ? missing >> 1 : 0;
  return new StrBuilder(context.budget)
    .addText(spec.fill.repeat(before), false)
    .add(str.cut(0, str.offsetOf(length)))
    .addText(spec.fill.repeat(missing - before), false)
    .done();
}

interface Parts {
  readonly sign: string;
  readonly prefix: string;
  readonly digits: string;
}

const BASES: Readonly<Record<string, number>> = { b: 2, o: 8, x: 16, X: 16 };

function numberParts(number: bigint | number, spec: Spec): Parts {
  const negative = number < 0 || Object.is(number, -0);
  const sign = negative ? '-' : spec.sign === '-' ? '' : spec.sign;
  const { type } = spec;
  if (typeof number === 'bigint' && (type === undefined || 'bdoxXnc'.includes(type))) {
    if (spec.precision !== undefined) raise('Precision not allowed in integer format specifier');
    if (type === 'c') return { sign: '', prefix: '', digits: String.fromCodePoint(Number(number)) };
    const base = BASES[type ?? 'd'] ?? 10;
    const size = negative ? -number : number;
    const digits = base === 10 ? intText(size) : size.toString(base);
    const prefix = spec.alternate && base !== 10 ? `0${type}` : '';
    const grouped = group(digits, spec.grouping, base === 10 ? 3 : 4);
    return { sign, prefix, digits: type === 'X' ? grouped.toUpperCase() : grouped };
  }
  if (type !== undefined && !'eEfFgGn%'.includes(type)) {
    raise(`Unknown format code '${type}' for object of type '${typeName(number)}'`);
  }
  const [whole, rest] = splitWhole(floatDigits(Math.abs(Number(number)), spec));
  return { sign, prefix: '', digits: group(whole, spec.grouping, 3) + rest };
}

/** The digits before the point, and what follows them. */
function splitWhole(digits: string): [string, string] {
  const end = /^\d*/.exec(digits)?.[0].length ?? 0;
  return [digits.slice(0, end), digits.slice(end)];
}

function group(digits: string, by: string, size: number): string {
  return by === '' ? digits : digits.replace(new RegExp(`\\B(?=(?:[\\da-f]{${size}})+$)`, 'g'), by);
}

function floatDigits(size: number, { type, precision, alternate }: Spec): string {
  if (type === undefined && precision === undefined) return floatText(size);
  if (!Number.isFinite(size))
    return /[EFG]/.test(type ?? '') ? floatText(size).toUpperCase() : floatText(size);
  if (type === '%') return `${fixedText(size * 100, precision ?? 6)}%`;
  return floatConversion(size, type ?? 'r', precision, alternate);
}

/** The digits of a finite non-negative float, for `e`, `f`, `g` in either case; `r` is `g` that keeps a point. */
export function floatConversion(size: number, type: string, precision = 6, alternate = false): string {
  const lower = type.toLowerCase();
  let text: string;
  if (lower === 'f') text = fixedText(size, precision);
  else if (lower === 'e') text = exponential(size, precision);
  else text = general(size, Math.max(1, precision), { alternate, keepsPoint: type === 'r' });
  if (alternate && precision === 0 && lower !== 'g') text = text.replace(/^\d+/, '$&.');
  return type === lower ? text : text.toUpperCase();
}

function exponential(size: number, precision: number): string {
  const { mantissa, power } = exponentialText(size, precision);
  return `${mantissa}e${exponentText(power)}`;
}

function general(size: number, precision: number, how: { alternate: boolean; keepsPoint: boolean }): string {
  const { power } = exponentialText(size, precision - 1);
  const scientific = power < -4 || power >= precision - (how.keepsPoint ? 1 : 0);
  const text = scientific ? exponential(size, precision - 1) : fixedText(size, precision - 1 - power);
  if (how.alternate) return text;
  const [mantissa, exponent = ''] = text.split(/(?=e)/) as [string, string?];
  const short = mantissa.includes('.') ? mantissa.replace(/\.?0+$/, '') : mantissa;
  return `${how.keepsPoint && exponent === '' && !short.includes('.') ? `${short}.0` : short}${exponent}`;
}

function padNumber(sign: string, prefix: string, digits: string, spec: Spec): string {
  const missing = Math.max(0, spec.width - sign.length - prefix.length - digits.length);
  const { align = '>', fill } = spec;
  if (align === '=') {
    // Zeros used as fill are grouped with the digits.
    if (fill === '0' && spec.grouping !== '') return sign + prefix + zeroFilled(digits, spec, missing);
    return sign + prefix + fill.repeat(missing) + digits;
  }
  const before = align === '>' ? missing : align === '^' ? missing >> 1 : 0;
  return fill.repeat(before) + sign + prefix + digits + fill.repeat(missing - before);
}

function zeroFilled(digits: string, { grouping }: Spec, missing: number): string {
  const [whole, rest] = splitWhole(digits.replaceAll(grouping, ''));
  const width = digits.length + missing - rest.length;
  let zeros = whole;
  while (group(zeros, grouping, 3).length < width) zeros = `0${zeros}`;
  return group(zeros, grouping, 3) + rest;
}
