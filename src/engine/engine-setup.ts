import type { Logger } from '../base/log.ts';
import type { SequenceState } from '../state/sequence-state.ts';
import type { PlacedModel } from '../runtime/device-run.ts';
import type { Proposer } from '../scheduler/proposer.ts';
import type { RuntimeOptions } from '../runtime/jobs/runtime-options.ts';
import type { SequenceActivity } from '../runtime/sequence.ts';
import type { StepProfile } from '../runtime/jobs/step-profile.ts';

/** What an engine runs on. It owns none of it. */
export interface EngineSetup extends PlacedModel {
  readonly state: SequenceState;
  readonly logger?: Logger | undefined;
  /**
   * Reopens the device and reloads the model in the same shape after the device was lost. Without it, a lost device fails
   * whatever runs.
   */
  readonly restore?: ((lost: Error, signal: AbortSignal) => Promise<PlacedModel>) | undefined;
  /** Most draft ids of a sequence that are computed at once, where its state allows it. Default 0. */
  readonly speculation?: number | undefined;
  /** Proposes them. Default: from what the sequence repeats. */
  readonly proposer?: Proposer | undefined;
  /** Default: everything on. */
  readonly runtime?: Partial<RuntimeOptions> | undefined;
  /** Is told where the time of steps goes. */
  readonly profile?: StepProfile | undefined;
}

/** What an engine has done so far. */
export interface EngineCounters {
  readonly steps: number;
  /** Bytes of steps' small inputs that were uploaded: rows, and what changed of block tables and sampling parameters. */
  readonly bytesUp: number;
  /** Bytes of results that were read back. */
  readonly bytesBack: number;
  /** Whole steps that were recorded already when they were wanted, and those that were not, since the device was opened. */
  readonly preparedHits: number;
  readonly preparedMisses: number;
  /** Whole steps that were recorded before they were wanted, and those of them that were wanted since. */
  readonly preparedAhead: number;
  readonly preparedAheadUsed: number;
}

/** What an engine is busy with, in the order of arrival. */
export interface EngineActivity {
  readonly slots: number;
  readonly context: number;
  readonly sequences: readonly SequenceActivity[];
}
