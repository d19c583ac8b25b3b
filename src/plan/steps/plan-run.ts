import type { Stream } from '../../device/index.ts';
import type { StepInputs } from '../inputs/batch-inputs.ts';
import type { BatchPlan, StepKind } from './batch-plan.ts';

/** Results that a step leaves on the device. */
export type ResultName = 'logits' | 'tokens' | 'report';

/** Where a run goes. */
export interface RunOn {
  readonly stream: Stream;
  readonly batch: BatchPlan;
  readonly kind: StepKind;
  readonly input: StepInputs;
  /** The host waits for the inputs to be on the device before it queues the step. Default false. */
  readonly awaitsInputs?: boolean;
  /** Has the parts queued one by one, and is told of each, by its number in the order of running, before the next is. */
  readonly behindPart?: ((part: number) => Promise<void>) | undefined;
  /** Is told when all that the step needs is there and its inputs are about to be queued, and of whole steps whether they were recorded. */
  readonly watch?: RunWatch | undefined;
}

/** Who wants to know how a run gets on. */
export interface RunWatch {
  ready(wasRecorded?: boolean): void;
}
