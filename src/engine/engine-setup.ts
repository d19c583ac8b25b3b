import type { Logger } from '../base/log.ts';
import type { BlockEvent } from '../state/held-blocks.ts';
import type { SequenceState } from '../state/sequence-state.ts';
import type { PlacedModel } from '../runtime/device-run.ts';
import type { Proposer } from '../scheduler/proposer.ts';
import type { RuntimeOptions } from '../runtime/jobs/runtime-options.ts';
import type { SequenceActivity } from '../runtime/sequence.ts';
import type { StepProfile } from '../runtime/jobs/step-profile.ts';

/** What an engine needs to run. It owns none of it. */
export interface EngineSetup extends PlacedModel {
  readonly state: SequenceState;
  readonly logger?: Logger | undefined;
  /**
   * Reopens the device and reloads the model in the same shape after the device was lost. Without it, losing the device
   * fails all running requests.
   */
  readonly restore?: ((lost: Error, signal: AbortSignal) => Promise<PlacedModel>) | undefined;
  /** Maximum draft tokens per sequence and step, if the state supports rolling back. Default 0. */
  readonly speculation?: number | undefined;
  /** Fewest draft tokens that are verified. Default 0. */
  readonly minDraftTokens?: number | undefined;
  /** Where draft tokens come from. Default: prompt lookup. */
  readonly proposer?: Proposer | undefined;
  /** Default: everything enabled. */
  readonly runtime?: Partial<RuntimeOptions> | undefined;
  /** Receives the times of steps. */
  readonly profile?: StepProfile | undefined;
  /** Learns which prefixes can be reused. */
  readonly onBlocks?: ((events: readonly BlockEvent[]) => void) | undefined;
}

/** Totals since the engine was created. */
export interface EngineCounters {
  readonly steps: number;
  /** Bytes of small step inputs that were uploaded: rows, and changes of block tables and sampling parameters. */
  readonly bytesUp: number;
  /** Bytes of results that were read back. */
  readonly bytesBack: number;
  /** Whole steps that were already recorded when needed, and those that were not, since the device was opened. */
  readonly preparedHits: number;
  readonly preparedMisses: number;
  /** Whole steps that were recorded ahead of time, and those of them used since. */
  readonly preparedAhead: number;
  readonly preparedAheadUsed: number;
  /**
   * If not all experts are on the device: chosen ones that were, and those that were not, once per layer and step if they are
   * streamed, otherwise every choice; experts that were loaded before they were chosen, and those of them that then were, which are
   * among the hits; and the bytes of all that was loaded or copied to the device, since it was opened. What is read in the host's
   * memory is not among these bytes.
   */
  readonly expertHits: number;
  readonly expertMisses: number;
  readonly expertPrefetches: number;
  readonly expertPrefetchesUsed: number;
  readonly expertBytes: number;
}

/** How much of the KV cache running sequences use: what ended ones left behind counts as free. */
export interface CacheActivity {
  /** Positions of a block; all of the context for models whose state does not grow with the positions. */
  readonly blockSize: number;
  readonly blocks: number;
  readonly used: number;
}

/** Running and waiting sequences, in order of arrival. */
export interface EngineActivity {
  /** Sequences that may run at once. */
  readonly slots: number;
  /** Positions that a sequence may have. */
  readonly context: number;
  readonly cache: CacheActivity;
  readonly sequences: readonly SequenceActivity[];
}
