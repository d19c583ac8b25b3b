import type { Candidates, StageContext } from '../candidates.ts';

/** Starts with the k most likely tokens, or all of them if k is 0. */
export function topK(
  candidates: Candidates,
  logits: Float32Array,
  k: number,
  { maxima }: Pick<StageContext, 'maxima'>,
): void {
  if (k > 0 && k < logits.length) candidates.fillTop(logits, k, maxima);
  else candidates.fillAll(logits);
}
