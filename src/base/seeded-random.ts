/**
 * Repeatable uniform numbers in [0, 1) with 32 random bits each: xoshiro128++ (Blackman & Vigna 2019), its state filled
 * from the seed's low 32 bits by splitmix32.
 */
export function seededRandom(seed: number): () => number {
  let mixed = seed | 0;
  const word = (): number => {
    mixed = (mixed + 0x9e3779b9) | 0;
    let z = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return z ^ (z >>> 15);
  };
  let [a, b, c, d] = [word(), word(), word(), word()];
  return () => {
    const sum = (a + d) | 0;
    const result = (((sum << 7) | (sum >>> 25)) + a) | 0;
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = (d << 11) | (d >>> 21);
    return (result >>> 0) / 2 ** 32;
  };
}
