import type { AdapterChoice } from '../../model/lora/adapter-set.ts';

/** What a job needs of a sequence. */
export interface JobSequence {
  readonly ids: readonly number[];
  /** Vectors in the place of ids' embeddings, by the ids below zero that stand for them. */
  readonly vectors?: ReadonlyMap<number, Float32Array> | undefined;
  /** Ids that may follow those. */
  readonly draftIds: readonly number[];
  /** Its row of sampling parameters. */
  readonly sampling: Int32Array;
  /** Most likely tokens reported beside a sampled one; -1 reports none and not even the sampled one's. */
  readonly alternatives: number;
  /** The tokens that may follow its last id, `maskWords` of the vocabulary; undefined where all may. */
  readonly mask: Int32Array | undefined;
  /** What its rows go through; none without adapters. */
  readonly adapters?: readonly AdapterChoice[] | undefined;
}
