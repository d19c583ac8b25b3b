import type { Candidates, StageContext } from '../candidates.ts';
import { largestOf } from '../exponential-sum.ts';

/** Keeps the tokens at least `p` times as likely as the most likely one (Nguyen et al. 2024). */
export function minP(
  candidates: Candidates,
  _logits: Float32Array,
  p: number,
  { minKeep }: StageContext,
): void {
  const { keys, count } = candidates;
  const floor = largestOf(keys, count) + Math.log(p);
  let kept = 0;
  for (let i = 0; minKeep > 1 && i < count; i++) if ((keys[i] as number) >= floor) kept++;
  if (kept < minKeep && minKeep > 1) candidates.keepBest(minKeep);
  else candidates.keepAbove(floor);
}
