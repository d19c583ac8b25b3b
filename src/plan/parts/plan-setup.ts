import type { Device } from '../../device/index.ts';
import type { DecodePlace } from '../../load/chunk.ts';
import type { BatchShape } from '../../ops/value.ts';
import type { TensorIndex } from '../../model/part-scope.ts';
import type { ExpertSlots } from '../experts/expert-pieces.ts';
import type { HostTable } from '../inputs/host-embedding.ts';
import type { ModelGraphs } from '../../model/model-graphs.ts';
import type { StateSize } from '../../state/state-of.ts';
import type { Taps } from '../taps/tap.ts';

/** The inputs of an execution plan's compilation. */
export interface PlanSetup {
  readonly device: Device;
  readonly tensors: TensorIndex;
  /** Records the model for a batch shape. */
  record(shape: BatchShape): ModelGraphs;
  /** The largest shape. Smaller ones, if the device benefits from them, differ only in rows and outputs. */
  readonly shape: BatchShape;
  /**
   * Whether one plan, of the largest shape, computes every step. Default: one plan for each capacity that the device
   * benefits from.
   */
  readonly deterministic?: boolean | undefined;
  /** The embeddings that stay on the host. Default: none. */
  readonly hostTables?: readonly HostTable[] | undefined;
  /** Where weights that do not keep the file's format are decoded. Default: on the device, if it can. */
  readonly decode?: DecodePlace | undefined;
  /** Maximum steps in flight. */
  readonly inFlight: number;
  /** Maximum steps of the model's predictor alone that follow a step. */
  readonly chained?: number | undefined;
  /** The token in place of those that are to be guessed, if the model's drafter fills masks. */
  readonly draftMask?: number | undefined;
  /** Whether further drafts attend from the end of the text, as the first does, whatever their own positions are. */
  readonly attendsFromEnd?: true;
  /** Handlers of values between pieces of the model; the graphs are recorded with their names. */
  readonly taps?: Taps | undefined;
  /** How experts are streamed, if they are. */
  readonly experts?: ExpertSlots | undefined;
  /** Whether experts are in the host's memory, with copies of some on the device. Default false. */
  readonly hotExperts?: boolean | undefined;
  /** Number of whole steps that stay recorded. Default: as `PreparedSteps`. */
  readonly preparedSteps?: number | undefined;
  /** Maximum positions of a sequence. */
  readonly context: number;
  /** The size of the sequence state. */
  readonly state: StateSize;
  /** Whether graphs allow dequantized copies of weights. Default false. */
  readonly dequantized?: boolean | undefined;
  /** Whether the weights of a part share one buffer. Default: each has its own. */
  readonly poolWeights?: boolean | undefined;
  /** Maximum adapters of a row; 0 without adapters. */
  readonly adaptersARow?: number;
}
