import type { Candidates } from '../candidates.ts';
import { largestOf, sumOfWeights, weightOf } from '../exponential-sum.ts';

/** Keeps the fewest most likely tokens whose probabilities reach `p`, one at least (Holtzman et al. 2020). */
export function topP(candidates: Candidates, p: number): void {
  const { keys, count } = candidates;
  const largest = largestOf(keys, count);
  const goal = p * sumOfWeights(keys, count, largest);
  let kept = 0;
  for (let sum = 0; kept < count && (kept === 0 || sum < goal); kept++) {
    sum += weightOf(keys[candidates.indexOf(kept)] as number, largest);
  }
  candidates.keepBest(kept);
}
