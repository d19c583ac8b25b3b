import { fail } from '../base/errors.ts';
import type { ModelConfig } from '../model/model-config.ts';
import type { Pooling } from '../model/pooling.ts';
import type { PositionLogits } from '../runtime/forced-logits.ts';

/** How several rows are combined into one vector. */
export type VectorPooling = Exclude<Pooling, 'none' | 'rank'>;

/** Options of an embedding. */
export interface EmbedOptions {
  /** Whether the vector is normalized to length 1. Default true. */
  readonly normalized?: boolean | undefined;
  /** The pooling. Default: as the file says, or as the model was opened with. */
  readonly pooling?: VectorPooling | undefined;
  /**
   * Keeps the first so many values, before normalization, of models that were trained for this (Kusupati et al. 2022,
   * "Matryoshka representation learning"). Default: all of them.
   */
  readonly dimensions?: number | undefined;
  /** Aborts with `ABORTED`. */
  readonly signal?: AbortSignal | undefined;
}

/** The embedding of a text. */
export interface Embedding {
  readonly vector: Float32Array;
  /** Tokens of the text. */
  readonly tokens: number;
}

/** The rows of a text's tokens, not pooled and not normalized. */
export interface TokenEmbeddings {
  /** One vector per token. */
  readonly vectors: readonly Float32Array[];
  /** Tokens of the text. */
  readonly tokens: number;
}

/** What is known of a model here. */
type EmbeddingModel = Pick<ModelConfig, 'architecture' | 'pooling'>;

/** Throws `EMBEDDINGS_UNSUPPORTED` unless the model's results are its rows. */
export function requireRows({ architecture: model, pooling }: EmbeddingModel): void {
  if (pooling === undefined) {
    const expected = 'an embedding model, or one that is opened with a pooling';
    fail('EMBEDDINGS_UNSUPPORTED', { model, found: 'a model that continues texts', expected });
  }
  if (pooling === 'rank') {
    fail('EMBEDDINGS_UNSUPPORTED', { model, found: 'a model that ranks', expected: 'another pooling' });
  }
}

/** The pooling of a model's rows. Throws `EMBEDDINGS_UNSUPPORTED`. */
export function poolingOf(config: EmbeddingModel, { pooling: wanted }: EmbedOptions): VectorPooling {
  requireRows(config);
  const pooling = wanted ?? config.pooling;
  if (pooling && pooling !== 'none' && pooling !== 'rank') return pooling;
  const { architecture: model } = config;
  return fail('EMBEDDINGS_UNSUPPORTED', { model, found: 'no pooling', expected: 'one to be asked for' });
}

/** Takes the rows of a text in order, perhaps several times from the first one on, and has its vector then. */
export interface RowCollector {
  take(row: PositionLogits): void;
  /** f32 [width], or [count * width] of all rows. */
  vector(): Float32Array;
}

/** Pools the rows of a text. Of a text's rows, those from the first that the pooling needs are passed in. */
export function pooledRows({
  pooling,
  width,
  count,
}: {
  readonly pooling: VectorPooling;
  readonly width: number;
  readonly count: number;
}): RowCollector {
  const sums = new Float64Array(width);
  const begin = pooling === 'last' ? count - 1 : 0;
  const end = pooling === 'first' ? 1 : count;
  return {
    take: ({ position, logits }) => {
      if (position === begin) sums.fill(0);
      if (position < begin || position >= end) return;
      for (let i = 0; i < width; i++) sums[i] = (sums[i] as number) + (logits[i] as number);
    },
    vector: () => Float32Array.from(sums, (sum) => sum / (end - begin)),
  };
}

/** All rows of a text one after another. */
export function allRows({ width, count }: { readonly width: number; readonly count: number }): RowCollector {
  const all = new Float32Array(count * width);
  return { take: ({ position, logits }) => all.set(logits, position * width), vector: () => all };
}

/**
 * The vector that is handed out: the first `dimensions` values, normalized to length 1 (zeros stay zeros). Throws
 * `INVALID_ARGUMENT`.
 */
export function finishedVector(
  vector: Float32Array,
  { dimensions = vector.length, normalized = true }: EmbedOptions,
): Float32Array {
  if (!Number.isSafeInteger(dimensions) || dimensions < 1 || dimensions > vector.length) {
    const expected = `a whole number from 1 to ${vector.length}`;
    fail('INVALID_ARGUMENT', { name: 'dimensions', found: `${dimensions}`, expected });
  }
  const cut = vector.subarray(0, dimensions);
  const length = normalized ? Math.sqrt(cut.reduce((sum, value) => sum + value * value, 0)) : 0;
  return length === 0 ? cut.slice() : cut.map((value) => value / length);
}
