import { fail } from '../base/errors.ts';
import type { ModelConfig, Pooling } from '../model/model-config.ts';
import type { PositionLogits } from '../runtime/forced-logits.ts';

/** How several rows are combined into one vector. */
export type VectorPooling = Exclude<Pooling, 'none'>;

/** Options of an embedding. */
export interface EmbedOptions {
  /** Whether the vector is normalized to length 1. Default true. */
  readonly normalized?: boolean | undefined;
  /** The pooling. Default: as the file says. */
  readonly pooling?: VectorPooling | undefined;
  /** Aborts with `ABORTED`. */
  readonly signal?: AbortSignal | undefined;
}

/** The embedding of a text. */
export interface Embedding {
  readonly vector: Float32Array;
  /** Tokens of the text. */
  readonly tokens: number;
}

/** The pooling of a model's rows. Throws `EMBEDDINGS_UNSUPPORTED`. */
export function poolingOf(
  { architecture: model, pooling: own }: Pick<ModelConfig, 'architecture' | 'pooling'>,
  { pooling: wanted }: EmbedOptions,
): VectorPooling {
  if (own === undefined) {
    fail('EMBEDDINGS_UNSUPPORTED', { model, found: 'a model that continues texts', expected: 'an encoder' });
  }
  const pooling = wanted ?? own;
  if (pooling !== 'none') return pooling;
  return fail('EMBEDDINGS_UNSUPPORTED', {
    model,
    found: 'no pooling in its file',
    expected: 'one to be asked for',
  });
}

/** Pools an encoder's rows: f32 [width]. */
export async function pooledRows(
  rows: AsyncIterable<PositionLogits>,
  { pooling, width, count }: { pooling: VectorPooling; width: number; count: number },
): Promise<Float32Array> {
  const sums = new Float64Array(width);
  const wanted = (position: number): boolean => {
    if (pooling === 'first') return position === 0;
    return pooling !== 'last' || position === count - 1;
  };
  for await (const { position, logits } of rows) {
    if (!wanted(position)) continue;
    for (let i = 0; i < width; i++) sums[i] = (sums[i] as number) + (logits[i] as number);
  }
  const divisor = pooling === 'mean' ? count : 1;
  return Float32Array.from(sums, (sum) => sum / divisor);
}

/** The vector normalized to length 1; zeros stay zeros. */
export function unitVector(vector: Float32Array): Float32Array {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return length === 0 ? vector : vector.map((value) => value / length);
}
