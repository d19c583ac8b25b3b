import type { Device } from '../../device/index.ts';
import type { DecodePlace } from '../../load/chunk.ts';
import type { BatchShape } from '../../ops/value.ts';
import type { TensorIndex } from '../../model/part-scope.ts';
import type { HostTable } from '../inputs/host-embedding.ts';
import type { ModelGraphs } from '../../model/model-graphs.ts';
import type { StateSize } from '../../state/state-of.ts';
import type { Taps } from '../taps/tap.ts';

/** What an execution plan is compiled from. */
export interface PlanSetup {
  readonly device: Device;
  readonly tensors: TensorIndex;
  /** Records the model for a batch shape. */
  record(shape: BatchShape): ModelGraphs;
  /** The largest shape. Smaller ones, where the device gains by them, have fewer rows and outputs and all else alike. */
  readonly shape: BatchShape;
  /** One plan, of the largest shape, computes every step. Default: one for each capacity that the device gains by. */
  readonly deterministic?: boolean | undefined;
  /** The embedding, where it stays on the host. */
  readonly hostEmbedding?: HostTable | undefined;
  /** Where weights are decoded that do not stay as in the file. Default: on the device, where it can. */
  readonly decode?: DecodePlace | undefined;
  /** Steps that may be under way at once. */
  readonly inFlight: number;
  /** Handlers of values between pieces of the model; the graphs are recorded for their names. */
  readonly taps?: Taps | undefined;
  /** Whole steps that stay recorded. Default: as `PreparedSteps`. */
  readonly preparedSteps?: number | undefined;
  /** Positions that a sequence may have. */
  readonly context: number;
  /** What sequences leave behind. */
  readonly state: StateSize;
  /** Whether the weights of a part lie in one buffer. Default: each has its own. */
  readonly poolWeights?: boolean | undefined;
  /** Adapters that a row goes through at once; 0 without adapters. */
  readonly adaptersARow?: number;
}
