import type { Candidates, StageContext } from '../candidates.ts';
import { entropyOf, largestOf, sumOfWeights } from '../exponential-sum.ts';

/** The minimum dynamic temperature, unless the configured one is lower. */
const MIN_DYNAMIC = 2 ** -10;

/**
 * A temperature that grows with the entropy of the candidates: from `temperature - range` if one token is certain to
 * `temperature + range` if all are equally likely, with the entropy relative to its maximum raised to a power
 * (llama.cpp's `dynatemp`).
 */
export function dynamicTemperature(
  { keys, count }: Candidates,
  range: number,
  { temperature, beside: exponent }: StageContext,
): number {
  if (count < 2) return temperature;
  const largest = largestOf(keys, count);
  const entropy = entropyOf(keys, count, { largest, total: sumOfWeights(keys, count, largest) });
  const part = Math.max(0, entropy / Math.log(count));
  const low = Math.max(temperature - range, Math.min(temperature, MIN_DYNAMIC));
  return low + (temperature + range - low) * part ** exponent;
}
