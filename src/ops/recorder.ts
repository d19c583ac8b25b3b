import type { Axis, BatchShape, BatchTensors, ElementType, Tensor } from './value.ts';

/** What the recording functions of operators need of a graph that takes operators `O`. */
export interface Recorder<in O> {
  readonly shape: BatchShape;
  readonly batch: BatchTensors;
  /** A new result for the operator to write; f32 by default. */
  temp(op: string, of: { axis: Axis; width: number; type?: ElementType }): Tensor;
  /** Appends the operator. */
  push(op: O): void;
  /** Throws `GRAPH_SHAPE` unless the operands match. */
  require(fits: boolean, expected: string): void;
}
