import type { AdapterChoice } from '../../model/lora/adapter-set.ts';
import type { SamplerChain } from '../../ops/sampling/sampler-chain.ts';

/** What a job needs of a sequence. */
export interface JobSequence {
  readonly ids: readonly number[];
  /** Embedding vectors by the negative ids that stand for them. */
  readonly vectors?: ReadonlyMap<number, Float32Array> | undefined;
  /** Draft ids that may follow those. */
  readonly draftIds: readonly number[];
  /** Its row of sampling parameters. */
  readonly sampling: Int32Array;
  /** Number of most likely tokens reported besides a sampled one; -1 reports no log probabilities at all. */
  readonly alternatives: number;
  /** Samples its tokens on the host; undefined if the device does. */
  readonly chain?: SamplerChain | undefined;
  /** The tokens that may follow its last id, `maskWords` of the vocabulary; undefined if all may. */
  readonly mask: Int32Array | undefined;
  /** Whether the model's predictor should propose ids behind its rows. Default false. */
  readonly wantsPrediction?: boolean | undefined;
  /** The adapters of its rows; undefined without adapters. */
  readonly adapters?: readonly AdapterChoice[] | undefined;
}
