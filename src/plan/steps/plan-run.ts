import type { Stream } from '../../device/index.ts';
import type { StepInputs } from '../inputs/batch-inputs.ts';
import type { BatchPlan, StepKind } from './batch-plan.ts';

/** Results that a step leaves on the device. */
export type ResultName = 'logits' | 'tokens' | 'report' | 'drafts';

/** Where and how a step runs. */
export interface RunTarget {
  readonly stream: Stream;
  readonly batch: BatchPlan;
  readonly kind: StepKind;
  readonly input: StepInputs;
  /** Whether the host waits for the inputs to be on the device before it queues the step. Default false. */
  readonly awaitsInputs?: boolean;
  /**
   * If given, parts are queued one by one, and this is called after each with its index in execution order, before the
   * next.
   */
  readonly behindPart?: ((part: number) => Promise<void>) | undefined;
  /**
   * Told when everything that the step needs is loaded and its inputs are about to be queued and, for whole steps,
   * whether they were already recorded.
   */
  readonly watch?: RunWatch | undefined;
}

/** Observes the progress of a run. */
export interface RunWatch {
  ready(wasRecorded?: boolean): void;
}
