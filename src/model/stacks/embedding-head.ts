import type { Activation } from '../../ops/elementwise.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { ClassifierSpec, ModelConfig, RowsHead } from '../model-config.ts';
import { type Pooling, POOLINGS } from '../pooling.ts';

/** How llama.cpp writes an unspecified pooling: -1 as unsigned. */
const UNSPECIFIED = 2 ** 32 - 1;

/** How an architecture ranks, if it does: what llama.cpp computes for its files with pooling `rank`. */
export interface RankTraits {
  /** The row that is classified. */
  readonly row: 'first' | 'last';
  /** The activation after `cls.weight`. */
  readonly activation: Activation;
  /** Whether the scores are probabilities, by a softmax over the labels (Qwen3-Reranker). */
  readonly isNormalized?: true;
}

/** The requested pooling, or the file's; undefined if it has none. Throws `MODEL_CONFIG`. */
export function readPooling(read: ConfigReader): Pooling | undefined {
  const type = read.real('pooling_type', UNSPECIFIED);
  const found = type === UNSPECIFIED ? undefined : POOLINGS[type];
  if (type !== UNSPECIFIED && found === undefined) {
    read.refuse('pooling_type', String(type), '0 to 4: none, mean, cls, last or rank');
  }
  return read.wanted.pooling ?? found;
}

/** What a model that embeds or ranks has instead of logits. */
export interface EmbeddingHead extends Pick<ModelConfig, 'classifier'> {
  readonly pooling: Pooling;
  readonly head: RowsHead;
}

/** The head of a model with a pooling. Throws `MODEL_CONFIG` if the architecture has no classifier but needs one. */
export function embeddingHead(
  read: ConfigReader,
  { pooling, rank }: { pooling: Pooling; rank?: RankTraits | undefined },
): EmbeddingHead {
  if (pooling !== 'rank') return { pooling, head: { kind: 'rows' } };
  if (!rank) read.refuse('pooling_type', 'rank', 'none, mean, cls or last for this architecture');
  const labels = read.texts('classifier.output_labels');
  const { row, activation, isNormalized } = rank;
  const classifier: ClassifierSpec = { outputs: Math.max(1, labels.length), activation };
  return {
    pooling,
    classifier: { labels, row, ...(isNormalized && { isNormalized }) },
    head: { kind: 'rows', classifier },
  };
}
