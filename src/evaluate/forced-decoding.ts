import { invariant } from '../base/errors.ts';
import type { PositionLogits } from '../runtime/forced-logits.ts';
import type { GoldenSequence } from './golden.ts';
import { logSumExp } from './log-likelihood.ts';

/** Positions where the golden's two best logits differ by more than this have a clear best token. */
export const CLEAR_MARGIN = 0.2;

/** How far a model is from a golden, over all compared positions. Logarithms are natural. */
export interface ForcedDecodingReport {
  readonly sequences: number;
  readonly positions: number;
  /** Largest |logit - golden's| over the golden's best tokens and the tokens that follow; NaN if a logit is. */
  readonly maxDifference: number;
  /** Fraction of positions with the golden's best token. */
  readonly agreement: number;
  /** Positions with a clear best token in the golden (`CLEAR_MARGIN`). */
  readonly clearPositions: number;
  /** Fraction of those with the golden's best token; 1 if there are none. */
  readonly clearAgreement: number;
  /** Mean log-likelihood of the tokens, each given those before it. */
  readonly logLikelihood: number;
  readonly goldenLogLikelihood: number;
  /** The model's minus the golden's. */
  readonly logLikelihoodDifference: number;
}

/** Collects a model's logits at a golden's positions. */
export class ForcedDecoding {
  #sequences = 0;
  #positions = 0;
  #agreed = 0;
  #clear = 0;
  #clearAgreed = 0;
  #maxDifference = 0;
  #scored = 0;
  #logLikelihood = 0;
  #goldenLogLikelihood = 0;

  /** Compares every position of one sequence; `logits` yields them in order, from `golden.from` on. */
  async compare(golden: GoldenSequence, logits: AsyncIterable<PositionLogits>): Promise<void> {
    let at = 0;
    for await (const position of logits) {
      invariant(position.position === golden.from + at, 'logits come in the order of their positions');
      this.#add(golden, at, position.logits);
      at++;
    }
    invariant(at === golden.top.length, 'every position of the golden has logits');
    this.#sequences++;
  }

  /** The results so far. */
  report(): ForcedDecodingReport {
    const logLikelihood = this.#logLikelihood / this.#scored;
    const goldenLogLikelihood = this.#goldenLogLikelihood / this.#scored;
    return {
      sequences: this.#sequences,
      positions: this.#positions,
      maxDifference: this.#maxDifference,
      agreement: this.#agreed / this.#positions,
      clearPositions: this.#clear,
      clearAgreement: this.#clear === 0 ? 1 : this.#clearAgreed / this.#clear,
      logLikelihood,
      goldenLogLikelihood,
      logLikelihoodDifference: logLikelihood - goldenLogLikelihood,
    };
  }

  #add(golden: GoldenSequence, at: number, logits: Float32Array): void {
    const top = golden.top[at] ?? [];
    const [best, second] = top;
    const agrees = best !== undefined && indexOfLargest(logits) === best[0];
    const clear = best !== undefined && second !== undefined && best[1] - second[1] > CLEAR_MARGIN;
    this.#positions++;
    if (agrees) this.#agreed++;
    if (clear) this.#clear++;
    if (clear && agrees) this.#clearAgreed++;
    for (const [id, logit] of top) this.#differ(logits[id], logit);
    const next = golden.ids[golden.from + at + 1];
    const goldenNext = golden.next[at];
    if (next === undefined || goldenNext === undefined) return;
    this.#differ(logits[next], goldenNext);
    this.#scored++;
    this.#logLikelihood += (logits[next] ?? Number.NaN) - logSumExp(logits);
    this.#goldenLogLikelihood += goldenNext - (golden.lse[at] ?? Number.NaN);
  }

  /** `Math.max` keeps a NaN once it has one. */
  #differ(logit: number | undefined, golden: number): void {
    this.#maxDifference = Math.max(this.#maxDifference, Math.abs((logit ?? Number.NaN) - golden));
  }
}

function indexOfLargest(logits: Float32Array): number {
  let best = 0;
  for (let id = 1; id < logits.length; id++) {
    if ((logits[id] as number) > (logits[best] as number)) best = id;
  }
  return best;
}
