import { fail, invariant } from '../base/errors.ts';
import { logSumExp } from './log-likelihood.ts';
import type { Evaluate } from './perplexity.ts';

/** A mean with one standard error. */
export interface Estimate {
  readonly mean: number;
  readonly error: number;
}

/** How values are spread, at shares of their order. */
export interface Spread extends Estimate {
  readonly minimum: number;
  readonly median: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly maximum: number;
}

/** How far a model's predictions are from a base's, over all positions. Logarithms are natural. */
export interface DivergenceReport {
  readonly positions: number;
  readonly perplexity: Estimate;
  readonly basePerplexity: Estimate;
  /** The logarithm of the perplexity divided by the base's. */
  readonly logRatio: Estimate;
  /** Kullback-Leibler divergence of the base's distribution from the model's, at each position. */
  readonly divergence: Spread;
  /** The root of the mean square of the differences of the next token's probability. */
  readonly probabilityRms: Estimate;
  /** The model's probability of the next token minus the base's. */
  readonly probability: Spread;
  /** The fraction of positions with the same most likely token. */
  readonly sameTop: Estimate;
}

/** Tokens that the base finds less likely than this add nothing, as in llama.cpp's perplexity tool. */
const LEAST_LOG_PROBABILITY = -16;

/** Sums for a mean and its standard error. */
class Moments {
  count = 0;
  sum = 0;
  #squares = 0;

  add(value: number): void {
    this.count++;
    this.sum += value;
    this.#squares += value * value;
  }

  get estimate(): Estimate {
    const mean = this.sum / this.count;
    const variance = Math.max(0, this.#squares / this.count - mean * mean);
    return { mean, error: this.count > 1 ? Math.sqrt(variance / (this.count - 1)) : 0 };
  }
}

/** Collects a model's and a base's predictions of the same tokens, with the statistics of llama.cpp's perplexity tool. */
export class Divergence {
  readonly #surprise = new Moments();
  readonly #baseSurprise = new Moments();
  readonly #squaredDifferences = new Moments();
  readonly #divergences: number[] = [];
  readonly #differences: number[] = [];
  #products = 0;
  #same = 0;

  /**
   * Adds a position: the model's logits, the base's log probabilities, and the token that follows. Throws `INVALID_ARGUMENT` for
   * another vocabulary.
   */
  add(logits: Float32Array, base: Float32Array, next: number): void {
    if (logits.length !== base.length) {
      const expected = `${base.length}, the base's: another vocabulary cannot be compared`;
      fail('INVALID_ARGUMENT', { name: 'tokens of the vocabulary', found: `${logits.length}`, expected });
    }
    const total = logSumExp(logits);
    let divergence = 0;
    for (const [id, expected] of base.entries()) {
      if (expected <= LEAST_LOG_PROBABILITY) continue;
      divergence += Math.exp(expected) * (expected - ((logits[id] as number) - total));
    }
    this.#divergences.push(divergence);
    const found = (logits[next] ?? Number.NaN) - total;
    const expected = base[next] ?? Number.NaN;
    this.#surprise.add(-found);
    this.#baseSurprise.add(-expected);
    this.#products += found * expected;
    const difference = Math.exp(found) - Math.exp(expected);
    this.#differences.push(difference);
    this.#squaredDifferences.add(difference * difference);
    if (indexOfLargest(logits) === indexOfLargest(base)) this.#same++;
  }

  /** The results so far; of at least one position. */
  report(): DivergenceReport {
    const positions = this.#divergences.length;
    const [surprise, base] = [this.#surprise.estimate, this.#baseSurprise.estimate];
    const covariance =
      positions > 1 ? (this.#products / positions - surprise.mean * base.mean) / (positions - 1) : 0;
    const variance = surprise.error ** 2 + base.error ** 2 - 2 * covariance;
    const squares = this.#squaredDifferences.estimate;
    const rms = Math.sqrt(squares.mean);
    const same = this.#same / positions;
    return {
      positions,
      perplexity: exponential(surprise),
      basePerplexity: exponential(base),
      logRatio: { mean: surprise.mean - base.mean, error: Math.sqrt(Math.max(0, variance)) },
      divergence: spreadOf(this.#divergences),
      probabilityRms: { mean: rms, error: rms === 0 ? 0 : squares.error / (2 * rms) },
      probability: spreadOf(this.#differences),
      sameTop: { mean: same, error: positions > 1 ? Math.sqrt((same * (1 - same)) / (positions - 1)) : 0 },
    };
  }
}

/** The base's log probabilities at the positions of `ids` from `from` on. */
export type EvaluateBase = (ids: readonly number[], from: number) => AsyncIterable<Float32Array>;

/** A model that is loaded as the base of a comparison. */
export function baseModel(evaluate: Evaluate): EvaluateBase {
  return async function* (ids, from) {
    for await (const { logits } of evaluate(ids, from)) yield logProbabilities(logits);
  };
}

/**
 * Compares the predictions in the second halves of chunks, as `estimatePerplexity` judges them; a report after each chunk.
 * Rejects with `INVALID_ARGUMENT` for another vocabulary.
 */
export async function* estimateDivergence(
  chunks: readonly (readonly number[])[],
  evaluate: Evaluate,
  base: EvaluateBase,
): AsyncGenerator<DivergenceReport, void> {
  const divergence = new Divergence();
  for (const chunk of chunks) {
    const given = chunk.slice(0, -1);
    const from = chunk.length >> 1;
    const expected = base(given, from)[Symbol.asyncIterator]();
    for await (const { position, logits } of evaluate(given, from)) {
      const { value } = (await expected.next()) as IteratorResult<Float32Array, undefined>;
      const next = chunk[position + 1];
      invariant(value && next !== undefined, 'the base has every position, and a token follows it');
      divergence.add(logits, value, next);
    }
    await expected.return?.();
    yield divergence.report();
  }
}

/** The log probabilities of logits. */
export function logProbabilities(logits: Float32Array): Float32Array {
  const total = logSumExp(logits);
  return logits.map((logit) => logit - total);
}

function exponential({ mean, error }: Estimate): Estimate {
  return { mean: Math.exp(mean), error: Math.exp(mean) * error };
}

function spreadOf(values: readonly number[]): Spread {
  const moments = new Moments();
  for (const value of values) moments.add(value);
  const sorted = values.toSorted((a, b) => a - b);
  // Between two values, a share is interpolated.
  const at = (share: number) => {
    const place = share * (sorted.length - 1);
    const low = sorted[Math.floor(place)] ?? Number.NaN;
    const high = sorted[Math.ceil(place)] ?? low;
    return low + (place - Math.floor(place)) * (high - low);
  };
  return {
    ...moments.estimate,
    minimum: at(0),
    median: at(0.5),
    p90: at(0.9),
    p99: at(0.99),
    p999: at(0.999),
    maximum: at(1),
  };
}

function indexOfLargest(values: Float32Array): number {
  let best = 0;
  for (let id = 1; id < values.length; id++) {
    if ((values[id] as number) > (values[best] as number)) best = id;
  }
  return best;
}
