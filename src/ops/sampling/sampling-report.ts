import type { BlockMaxima } from './block-maxima.ts';
import type { Candidates } from './candidates.ts';
import { largestOf, sumOfWeights } from './exponential-sum.ts';

/** The inputs and the output of a report; `candidates` is working memory. */
export interface ReportParts {
  readonly report: Float32Array;
  readonly logits: Float32Array;
  readonly candidates: Candidates;
  readonly maxima?: BlockMaxima | undefined;
}

/**
 * Writes the natural log probabilities of `token` and of the `wanted` most likely tokens, as many as fit, under the raw
 * logits, as pairs of (id as i32 bits, logarithm); pairs beyond those are unchanged. If there are fewer possible
 * tokens, the remaining pairs have id 0 and -Infinity. The logarithm of a missing token, with a negative id, is NaN.
 */
export function writeReport(
  { report, logits, candidates, maxima }: ReportParts,
  token: number,
  wanted: number,
): void {
  const alternatives = Math.min(wanted, report.length / 2 - 1);
  const bits = new Int32Array(report.buffer, report.byteOffset, report.length);
  const highest = maxima?.values ?? logits;
  const largest = largestOf(highest, highest.length);
  const logTotal = Math.log(sumOfWeights(logits, logits.length, largest));
  const logarithm = (logit: number) => (logit === largest ? 0 : logit - largest) - logTotal;
  bits[0] = token;
  report[1] = token < 0 ? Number.NaN : logarithm(logits[token] as number);
  if (alternatives === 0) return;
  candidates.fillTop(logits, Math.min(alternatives, logits.length), maxima);
  for (let rank = 0; rank < alternatives; rank++) {
    const at = 2 + 2 * rank;
    const index = rank < candidates.count ? candidates.indexOf(rank) : -1;
    bits[at] = candidates.ids[index] ?? 0;
    report[at + 1] = index < 0 ? -Infinity : logarithm(candidates.keys[index] as number);
  }
}

/** Writes the report of a row with invalid logits: the value written instead of the token, and NaN. */
export function writeNothing(report: Float32Array, token: number): void {
  new Int32Array(report.buffer, report.byteOffset, 1)[0] = token;
  report[1] = Number.NaN;
}
