import type { Candidates } from './candidates.ts';
import { largestOf, weightOf } from './exponential-sum.ts';

/**
 * Sorts the candidates by id, with their weights at this temperature as keys (the most likely one has weight 1).
 * Returns the sum of the weights.
 */
export function weigh(candidates: Candidates, logits: Float32Array, temperature: number): number {
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

/** The index of the first weighed candidate at which the cumulative weight exceeds `goal`. */
export function pick({ keys, count }: Candidates, goal: number): number {
  let chosen = 0;
  for (let i = 0, sum = 0; i < count; i++) {
    const weight = keys[i] as number;
    if (weight === 0) continue;
    chosen = i;
    sum += weight;
    if (sum > goal) break;
  }
  return chosen;
}
