/** The value of largest magnitude, with its sign; the first among equals. */
export function extremeOf(values: Float32Array, from: number, count: number): number {
  let extreme = 0;
  for (let i = from; i < from + count; i++) {
    const value = values[i] as number;
    if (Math.abs(value) > Math.abs(extreme)) extreme = value;
  }
  return extreme;
}

/** The smallest and the largest value. */
export function rangeOf(values: Float32Array, from: number, count: number): { min: number; max: number } {
  let min = values[from] as number;
  let max = min;
  for (let i = from + 1; i < from + count; i++) {
    const value = values[i] as number;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return { min, max };
}

/** `value * inverse + offset` in f32, truncated and clamped to 0 to `limit`. */
export function quantize(value: number, inverse: number, offset: number, limit: number): number {
  const scaled = Math.fround(Math.fround(value * inverse) + offset);
  return Math.min(limit, Math.max(0, Math.trunc(scaled)));
}
