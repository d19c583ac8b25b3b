import type { Candidates } from '../candidates.ts';
import { largestOf } from '../exponential-sum.ts';

/** Keeps the tokens at least `p` times as likely as the most likely one (Nguyen et al. 2024). */
export function minP(candidates: Candidates, _logits: Float32Array, p: number): void {
  candidates.keepAbove(largestOf(candidates.keys, candidates.count) + Math.log(p));
}
