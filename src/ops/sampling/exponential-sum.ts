/** Values further than this below the largest contribute less than 2e-22 of it and are left out of a sum. */
const REACH = 50;
const STEPS = 32;
const STEPS_PER_UNIT = STEPS / Math.LN2;
const UNITS_PER_STEP = Math.LN2 / STEPS;

let table: Float64Array | undefined;

/** `2^(-i / STEPS)` up to `REACH`. */
function powers(): Float64Array {
  table ??= Float64Array.from({ length: Math.ceil(REACH * STEPS_PER_UNIT) + 1 }, (_, i) => 2 ** (-i / STEPS));
  return table;
}

/** The largest of the first `length` values, ignoring NaN; -Infinity if there is none. */
export function largestOf(values: Float32Array | Float64Array, length: number): number {
  let largest = -Infinity;
  for (let i = 0; i < length; i++) {
    const value = values[i] as number;
    if (value > largest) largest = value;
  }
  return largest;
}

/**
 * The weight of a value relative to the largest one: `e^(value - largest)`, and 1 for the largest even if it is
 * infinite.
 */
export function weightOf(value: number, largest: number): number {
  return value === largest ? 1 : Math.exp(value - largest);
}

/**
 * The sum of `weightOf` over the first `length` values, to about 1e-9. The power table leaves at most ln 2 / 32 for the
 * series, so four terms suffice; `Math.exp` takes three times as long over a large vocabulary.
 */
export function sumOfWeights(values: Float32Array | Float64Array, length: number, largest: number): number {
  let sum = 0;
  if (!Number.isFinite(largest)) {
    for (let i = 0; i < length; i++) if (values[i] === largest) sum++;
    return sum;
  }
  const power = powers();
  for (let i = 0; i < length; i++) {
    const distance = largest - (values[i] as number);
    if (distance < REACH) {
      const step = (distance * STEPS_PER_UNIT) | 0;
      const rest = step * UNITS_PER_STEP - distance;
      sum += (power[step] as number) * (1 + rest * (1 + rest * (1 / 2 + rest * (1 / 6 + rest * (1 / 24)))));
    }
  }
  return sum;
}

/** The expected surprise (entropy, in nats) of the first `count` values' distribution; `total` is the sum of their weights. */
export function entropyOf(
  values: Float64Array,
  count: number,
  { largest, total }: { readonly largest: number; readonly total: number },
): number {
  const logTotal = Math.log(total);
  let entropy = 0;
  for (let i = 0; i < count; i++) {
    const distance = (values[i] as number) - largest;
    const probability = weightOf(values[i] as number, largest) / total;
    if (probability > 0) entropy -= probability * ((distance || 0) - logTotal);
  }
  return entropy;
}
