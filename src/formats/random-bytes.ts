/** Fills `dst` with random bytes, four from each number of `random` (uniform in [0, 1)). */
export function fillRandomBytes(dst: Uint8Array, random: () => number): void {
  const whole = dst.byteLength & ~3;
  for (let at = 0; at < whole; at += 4) {
    const bits = (random() * 2 ** 32) >>> 0;
    dst[at] = bits;
    dst[at + 1] = bits >>> 8;
    dst[at + 2] = bits >>> 16;
    dst[at + 3] = bits >>> 24;
  }
  for (let at = whole; at < dst.byteLength; at++) dst[at] = random() * 256;
}

/** A uniformly distributed number with mean 0 and the given standard deviation, from a uniform one in [0, 1). */
export function uniformOfDeviation(uniform: number, deviation: number): number {
  return (2 * uniform - 1) * Math.sqrt(3) * deviation;
}
