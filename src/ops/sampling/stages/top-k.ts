import type { Candidates } from '../candidates.ts';

/** Enters the k most likely tokens into the race, or all of them when k is 0. */
export function topK(candidates: Candidates, logits: Float32Array, k: number): void {
  if (k > 0 && k < logits.length) candidates.fillTop(logits, k);
  else candidates.fillAll(logits);
}
