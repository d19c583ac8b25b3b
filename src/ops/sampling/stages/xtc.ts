import type { Candidates, StageContext } from '../candidates.ts';
import { largestOf, sumOfWeights, weightOf } from '../exponential-sum.ts';

/** Distinguishes the draw of XTC's chance from the draw of the token. */
const XTC_SEED = 0x9e3779b9;

/**
 * With a given probability, drops all but the least likely of the tokens that are at least as likely as the threshold
 * ("exclude top choices", by the author of DRY). Among equally likely ones, the highest id stays.
 */
export function xtc(
  candidates: Candidates,
  _logits: Float32Array,
  probability: number,
  { beside: threshold, uniform, minKeep }: StageContext,
): void {
  if (uniform(XTC_SEED) >= probability) return;
  const { ids, keys, count } = candidates;
  const largest = largestOf(keys, count);
  const least = threshold * sumOfWeights(keys, count, largest);
  let last = -1;
  let choices = 0;
  for (let i = 0; i < count; i++) {
    if (weightOf(keys[i] as number, largest) < least) continue;
    choices++;
    if (last < 0 || precedes(candidates, last, i)) last = i;
  }
  if (last < 0 || count - (choices - 1) < minKeep) return;
  const edge = { key: keys[last] as number, id: ids[last] as number };
  let kept = 0;
  for (let i = 0; i < count; i++) {
    const [key, id] = [keys[i] as number, ids[i] as number];
    if (key > edge.key || (key === edge.key && id < edge.id)) continue;
    ids[kept] = id;
    keys[kept++] = key;
  }
  candidates.count = kept;
  candidates.unrank();
}

function precedes({ ids, keys }: Candidates, a: number, b: number): boolean {
  const [keyA, keyB] = [keys[a] as number, keys[b] as number];
  return keyA === keyB ? (ids[a] as number) < (ids[b] as number) : keyA > keyB;
}
