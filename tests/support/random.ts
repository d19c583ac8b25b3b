/** A repeatable source of uniform numbers in [0, 1): xorshift32 with a multiplied output. */
export function seededRandom(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (Math.imul(state, 0x9e3779b1) >>> 0) / 2 ** 32;
  };
}
