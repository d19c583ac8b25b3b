import type { Axis, BatchShape, BatchTensors, ElementType, Tensor } from './value.ts';

/** What an operator's recording function needs of a graph that takes operators `O`. */
export interface Recorder<in O> {
  readonly shape: BatchShape;
  readonly batch: BatchTensors;
  /** A fresh result for the operator to write; f32 unless said otherwise. */
  temp(op: string, of: { axis: Axis; width: number; type?: ElementType }): Tensor;
  /** Appends the operator. */
  push(op: O): void;
  /** Throws `GRAPH_SHAPE` unless the operands fit. */
  require(fits: boolean, expected: string): void;
}
