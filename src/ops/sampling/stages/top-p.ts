import type { Candidates, StageContext } from '../candidates.ts';
import { largestOf, sumOfWeights, weightOf } from '../exponential-sum.ts';

/**
 * Keeps the fewest most likely tokens whose probabilities reach `p`, at least one (Holtzman et al. 2020). Very unlikely
 * tokens need not be ranked: those that together could not make up the missing probability, even if each were as likely
 * as the floor.
 */
export function topP(
  candidates: Candidates,
  _logits: Float32Array,
  p: number,
  { minKeep }: StageContext,
): void {
  const { keys, count } = candidates;
  const largest = largestOf(keys, count);
  const total = sumOfWeights(keys, count, largest);
  if (minKeep <= 1) candidates.keepAbove(largest - Math.log(count / ((1 - p) * total)));
  const least = Math.max(1, minKeep);
  let kept = 0;
  for (let sum = 0; kept < candidates.count && (kept < least || sum < p * total); kept++) {
    sum += weightOf(keys[candidates.indexOf(kept)] as number, largest);
  }
  candidates.keepBest(kept);
}
