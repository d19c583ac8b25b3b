import type { Candidates } from '../candidates.ts';

/** Starts with the k most likely tokens, or all of them if k is 0. */
export function topK(candidates: Candidates, logits: Float32Array, k: number): void {
  if (k > 0 && k < logits.length) candidates.fillTop(logits, k);
  else candidates.fillAll(logits);
}
