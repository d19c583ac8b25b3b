import type { Candidates, StageContext } from '../candidates.ts';
import { entropyOf, largestOf, sumOfWeights, weightOf } from '../exponential-sum.ts';

/**
 * Keeps the tokens whose surprise is closest to the expected one, as many as it takes for their probabilities to reach `p`
 * (Meister et al. 2023, "Locally typical sampling").
 */
export function typical(
  candidates: Candidates,
  logits: Float32Array,
  p: number,
  { minKeep }: StageContext,
): void {
  const { ids, keys, count } = candidates;
  const largest = largestOf(keys, count);
  const total = sumOfWeights(keys, count, largest);
  const logTotal = Math.log(total);
  const entropy = entropyOf(keys, count, { largest, total });
  for (let i = 0; i < count; i++) {
    const key = keys[i] as number;
    const surprise = key === largest ? logTotal : logTotal + largest - key;
    keys[i] = -Math.abs(surprise - entropy);
  }
  candidates.unrank();
  const least = Math.max(1, minKeep);
  let kept = 0;
  for (let sum = 0; kept < count && (kept < least || sum < p * total); kept++) {
    const id = ids[candidates.indexOf(kept)] as number;
    sum += weightOf(logits[id] as number, largest);
  }
  candidates.keepBest(kept);
  candidates.rankByLogit(logits);
}
