import type { Candidates } from '../candidates.ts';
import { largestOf, weightOf } from '../exponential-sum.ts';

/**
 * Brings the candidates into the order of their ids, with their weights at this temperature as keys (the most likely one
 * weighs 1). Gives the sum of the weights.
 */
export function applyTemperature(candidates: Candidates, logits: Float32Array, temperature: number): number {
  const { ids, keys, count } = candidates;
  const largest = largestOf(keys, count) / temperature;
  candidates.orderById();
  let total = 0;
  for (let i = 0; i < count; i++) {
    const weight = weightOf((logits[ids[i] as number] as number) / temperature, largest);
    keys[i] = weight;
    total += weight;
  }
  return total;
}
