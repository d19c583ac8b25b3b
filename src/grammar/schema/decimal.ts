/** An exact decimal number, `digits / 10^scale`; `scale` is minimal and never negative. */
export interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

const power = (exponent: number): bigint => 10n ** BigInt(exponent);

function normal(digits: bigint, scale: number): Decimal {
  let [value, places] = [digits, scale];
  while (places > 0 && value % 10n === 0n) {
    value /= 10n;
    places--;
  }
  return { digits: value, scale: places };
}

/** The decimal that JavaScript prints for a finite number, which is the number that its source text meant. */
export function decimalOf(value: number): Decimal {
  const [mantissa = '0', exponent = '0'] = String(value).split('e');
  const [whole = '0', fraction = ''] = mantissa.split('.');
  const scale = fraction.length - Number(exponent);
  const digits = BigInt(whole + fraction);
  return scale < 0 ? { digits: digits * power(-scale), scale: 0 } : normal(digits, scale);
}

/** Both with a common scale. */
function aligned(a: Decimal, b: Decimal): { a: bigint; b: bigint; scale: number } {
  const scale = Math.max(a.scale, b.scale);
  return { a: a.digits * power(scale - a.scale), b: b.digits * power(scale - b.scale), scale };
}

/** Negative, zero or positive as `a` is less than, equal to or greater than `b`. */
export function compare(a: Decimal, b: Decimal): number {
  const both = aligned(a, b);
  return both.a < both.b ? -1 : both.a > both.b ? 1 : 0;
}

/** The negated number. */
export function negative(value: Decimal): Decimal {
  return { digits: -value.digits, scale: value.scale };
}

/** The absolute value. */
export function magnitude(value: Decimal): Decimal {
  return value.digits < 0n ? negative(value) : value;
}

/** True when `value` is a multiple of `step`, which must not be zero. */
export function isMultiple(value: Decimal, step: Decimal): boolean {
  const both = aligned(value, step);
  return both.a % both.b === 0n;
}

/** The least common multiple of two positive numbers. */
export function leastCommonMultiple(a: Decimal, b: Decimal): Decimal {
  const both = aligned(a, b);
  let [x, y] = [both.a, both.b];
  while (y !== 0n) [x, y] = [y, x % y];
  return normal((both.a / x) * both.b, both.scale);
}

/** `value / step`, rounded down (`down`) or up to an integer. */
export function stepsTo(value: Decimal, step: Decimal, down: boolean): bigint {
  const both = aligned(value, step);
  const whole = both.a / both.b;
  const rest = both.a % both.b;
  if (rest === 0n) return whole;
  if (down) return rest < 0n ? whole - 1n : whole;
  return rest > 0n ? whole + 1n : whole;
}

/** `count` times `step`. */
export function times(step: Decimal, count: bigint): Decimal {
  return normal(step.digits * count, step.scale);
}

/** The nearest JavaScript number. */
export function toNumber(value: Decimal): number {
  return Number(`${value.digits}e-${value.scale}`);
}

/**
 * The number of remainders of division by a step that must be tracked while digits are read; its factors of two and
 * five depend on the last digits only.
 */
export function remainders({ digits }: Decimal): bigint {
  let rest = digits;
  for (const prime of [2n, 5n]) while (rest % prime === 0n) rest /= prime;
  return rest;
}
