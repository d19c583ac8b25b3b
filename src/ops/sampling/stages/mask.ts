/** Forbids the tokens whose bit is not set: that of `id` is bit `id % 32` of word `id / 32`. */
export function forbid(logits: Float32Array, mask: Int32Array): void {
  for (let word = 0, first = 0; first < logits.length; word++, first += 32) {
    const bits = mask[word] as number;
    if (bits === -1) continue;
    const count = Math.min(32, logits.length - first);
    for (let bit = 0; bit < count; bit++) {
      if (((bits >>> bit) & 1) === 0) logits[first + bit] = -Infinity;
    }
  }
}
