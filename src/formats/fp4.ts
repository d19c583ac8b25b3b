/** Twice the values of E2M1, by code: sign, two exponent bits, one mantissa bit. */
export const FP4_DOUBLED: Int8Array = Int8Array.of(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);

/** The standard deviation of `FP4_DOUBLED` over random codes. */
export const FP4_DOUBLED_DEVIATION = 5.852;

/** The code whose value times `scale` is nearest to `value`, in f32; of equally near ones the first. */
export function nearestFp4(value: number, scale: number): number {
  let best = 0;
  let bestError = Number.POSITIVE_INFINITY;
  for (let code = 0; code < FP4_DOUBLED.length; code++) {
    const error = Math.abs(Math.fround((FP4_DOUBLED[code] as number) * scale - value));
    if (error < bestError) {
      best = code;
      bestError = error;
    }
  }
  return best;
}
