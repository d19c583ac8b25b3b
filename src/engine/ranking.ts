import { fail } from '../base/errors.ts';
import type { Classifier, ModelConfig } from '../model/model-config.ts';

/** Options of ranking documents. */
export interface RerankOptions {
  /** Number of results. Default: all. */
  readonly top?: number | undefined;
  /** Aborts with `ABORTED`. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of classification. */
export interface ClassifyOptions {
  /** Aborts with `ABORTED`. */
  readonly signal?: AbortSignal | undefined;
}

/** A document's place in a ranking. */
export interface RankedDocument {
  /** Its index among the documents. */
  readonly index: number;
  /**
   * How well it answers the query: a logit, or a probability if the model ends with a softmax (`isProbability`).
   */
  readonly score: number;
}

/** Documents, the best one first. */
export interface Ranking {
  readonly results: readonly RankedDocument[];
  /** Whether scores are probabilities; otherwise the logistic function turns them into such. */
  readonly isProbability: boolean;
  /** Tokens of all pairs of query and document. */
  readonly tokens: number;
}

/** The scores of a text by a model with a classifier. */
export interface Classification {
  /** One per label: logits, or probabilities if the model ends with a softmax. */
  readonly scores: Float32Array;
  /** The file's names of the scores; none if there is one score without a name. */
  readonly labels: readonly string[];
  readonly isProbability: boolean;
  readonly tokens: number;
}

/** The model's classifier. Throws `RANKING_UNSUPPORTED`. */
export function classifierOf({
  architecture: model,
  pooling,
  classifier,
}: Pick<ModelConfig, 'architecture' | 'pooling' | 'classifier'>): Classifier {
  if (classifier) return classifier;
  const found = pooling === undefined ? 'a model that continues texts' : `the pooling ${pooling}`;
  return fail('RANKING_UNSUPPORTED', { model, found });
}

/** The scores that are handed out: with the softmax that some models end with. */
export function finishedScores(logits: Float32Array, { isNormalized }: Classifier): Float32Array {
  return isNormalized ? softmax(logits) : logits;
}

/** The softmax of scores. */
export function softmax(logits: Float32Array): Float32Array {
  const largest = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const weights = Float64Array.from(logits, (logit) => Math.exp(logit - largest));
  const total = weights.reduce((a, b) => a + b, 0);
  return Float32Array.from(weights, (weight) => weight / total);
}

/** The probability of a logit: the logistic function. */
export function logistic(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}

/** The best first; equally good ones in their own order. Throws `INVALID_ARGUMENT`. */
export function ranked(scores: readonly number[], { top = scores.length }: RerankOptions): RankedDocument[] {
  if (!Number.isSafeInteger(top) || top < 0) {
    fail('INVALID_ARGUMENT', { name: 'top', found: `${top}`, expected: 'a whole number, 0 or more' });
  }
  const results = scores.map((score, index) => ({ index, score }));
  return results.sort((a, b) => b.score - a.score || a.index - b.index).slice(0, top);
}
