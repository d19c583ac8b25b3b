/**
 * A number in [0, 1) with 24 random bits, the same on every device: the first output of pcg3d (Jarzynski & Olano 2020,
 * "Hash functions for GPU rendering") over the seed's two words and the position, in wrapping 32-bit arithmetic.
 */
export function drawUniform(seedLow: number, seedHigh: number, position: number): number {
  let x = (Math.imul(seedLow, 1664525) + 1013904223) | 0;
  let y = (Math.imul(seedHigh, 1664525) + 1013904223) | 0;
  let z = (Math.imul(position, 1664525) + 1013904223) | 0;
  x = (x + Math.imul(y, z)) | 0;
  y = (y + Math.imul(z, x)) | 0;
  z = (z + Math.imul(x, y)) | 0;
  x ^= x >>> 16;
  y ^= y >>> 16;
  z ^= z >>> 16;
  x = (x + Math.imul(y, z)) | 0;
  return (x >>> 8) * 2 ** -24;
}
