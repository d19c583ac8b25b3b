import { raise } from './jinja-error.ts';

/** Maximum digits of an int that Python converts to text. */
const MAX_DIGITS = 4300;
/** Maximum bits of an int: slightly more than those digits need. */
export const MAX_BITS = 14_300;

/** Python's `str` of an int. */
export function intText(value: bigint): string {
  const text = value.toString();
  if (text.length > MAX_DIGITS + 1)
    raise(`Exceeds the limit (${MAX_DIGITS} digits) for integer string conversion`);
  return text;
}

/** Python's `repr` of a float: the shortest digits that read back as the same number. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf';
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const [mantissa, exponent] = value.toExponential().split('e') as [string, string];
  const power = Number(exponent);
  if (power >= 16 || power < -4) return `${mantissa}e${exponentText(power)}`;
  const negative = mantissa.startsWith('-');
  const digits = mantissa.replace(/[-.]/g, '');
  const plain =
    power < 0
      ? `0.${'0'.repeat(-power - 1)}${digits}`
      : `${digits.slice(0, power + 1).padEnd(power + 1, '0')}.${digits.slice(power + 1) || '0'}`;
  return negative ? `-${plain}` : plain;
}

/** An exponent as Python writes it: with its sign and at least two digits. */
export function exponentText(power: number): string {
  return `${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

/** A float as a whole number times a power of two. */
function exactly(value: number): { mantissa: bigint; power: number } {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, Math.abs(value));
  const bits = view.getBigUint64(0);
  const exponent = Number(bits >> 52n);
  const fraction = bits & ((1n << 52n) - 1n);
  return exponent === 0
    ? { mantissa: fraction, power: -1074 }
    : { mantissa: fraction | (1n << 52n), power: exponent - 1075 };
}

/** `numerator / denominator`, rounded half to even. Neither is negative. */
export function divideHalfEven(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator;
  const twice = 2n * (numerator % denominator);
  const up = twice > denominator || (twice === denominator && quotient % 2n === 1n);
  return up ? quotient + 1n : quotient;
}

/** The digits of a finite number without its sign, with `places` decimals; exact, rounded half to even. */
export function fixedText(value: number, places: number): string {
  const { mantissa, power } = exactly(value);
  const scaled = mantissa * 10n ** BigInt(places);
  const whole = power >= 0 ? scaled << BigInt(power) : divideHalfEven(scaled, 1n << BigInt(-power));
  const digits = whole.toString().padStart(places + 1, '0');
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

/** The digits of a finite number without its sign, as `d.ddd` with `places` decimals, and the power of ten. */
export function exponentialText(value: number, places: number): { mantissa: string; power: number } {
  if (value === 0) return { mantissa: (0).toFixed(places), power: 0 };
  const { mantissa, power } = exactly(value);
  let ten = Math.floor(Math.log10(Math.abs(value)));
  for (;;) {
    const shift = places - ten;
    const numerator =
      mantissa * (shift > 0 ? 10n ** BigInt(shift) : 1n) * (power > 0 ? 1n << BigInt(power) : 1n);
    const denominator = (shift < 0 ? 10n ** BigInt(-shift) : 1n) * (power < 0 ? 1n << BigInt(-power) : 1n);
    const digits = divideHalfEven(numerator, denominator).toString();
    if (digits.length === places + 1) {
      const text = places === 0 ? digits : `${digits[0]}.${digits.slice(1)}`;
      return { mantissa: text, power: ten };
    }
    ten += digits.length > places + 1 ? 1 : -1;
  }
}
