import type { Candidates } from './candidates.ts';
import { largestOf, sumOfWeights } from './exponential-sum.ts';

/** The most likely tokens from which the first version estimates the exponent of Zipf's law. */
const ESTIMATED_FROM = 100;

/**
 * Mirostat (Basu et al. 2021), which keeps the surprise of the drawn tokens near a target. It replaces the stages that narrow
 * the candidates. `mu`, the largest surprise, begins at twice the target and is corrected by each token's.
 */
export class Mirostat {
  readonly #version: 1 | 2;
  readonly #target: number;
  readonly #rate: number;
  #mu: number;

  /** `target` is tau, in bits, and `rate` is eta. */
  constructor(version: 1 | 2, { target, rate }: { readonly target: number; readonly rate: number }) {
    this.#version = version;
    this.#target = target;
    this.#rate = rate;
    this.#mu = 2 * target;
  }

  /** Drops the candidates that are too surprising; at least one stays. They are all tokens that the logits allow. */
  narrow(candidates: Candidates, logits: Float32Array): void {
    if (this.#version === 2) return this.#keepUnsurprising(candidates);
    const { count } = candidates;
    // Two passes over the logits take less time than ranking all of them.
    candidates.fillTop(logits, Math.min(ESTIMATED_FROM, count));
    candidates.fillTop(logits, this.#kept(candidates, { all: count, vocabulary: logits.length }));
  }

  /** Corrects `mu` by the probability that the drawn token had among the candidates that were left. */
  accept(probability: number): void {
    this.#mu -= this.#rate * (-Math.log2(probability) - this.#target);
  }

  /** The number of candidates, of which these are the most likely, whose expected surprise is at most `mu`, if they follow Zipf's law. */
  #kept(candidates: Candidates, of: { readonly all: number; readonly vocabulary: number }): number {
    const { keys, count: ranks } = candidates;
    let products = 0;
    let squares = 0;
    for (let rank = 0; rank < ranks - 1; rank++) {
      const at = candidates.indexOf(rank);
      const likely = keys[at] as number;
      const ratio = Math.log((rank + 2) / (rank + 1));
      products += ratio * (likely - (keys[candidates.indexOf(rank + 1)] as number));
      squares += ratio * ratio;
    }
    const exponent = products / squares;
    const excess = exponent - 1;
    const kept = ((excess * 2 ** this.#mu) / (1 - of.vocabulary ** -excess)) ** (1 / exponent);
    return Number.isNaN(kept) ? 1 : Math.max(1, Math.min(of.all, Math.trunc(kept)));
  }

  #keepUnsurprising(candidates: Candidates): void {
    const { keys, count } = candidates;
    const largest = largestOf(keys, count);
    const total = sumOfWeights(keys, count, largest);
    const floor = largest + Math.log(total) - this.#mu * Math.LN2;
    if (floor > largest) candidates.keepBest(1);
    else candidates.keepAbove(floor);
  }
}
