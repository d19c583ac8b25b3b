import type { GraphBuilder, OpKind, Tensor } from '../../../src/ops/index.ts';
import type { RaggedBatch } from './ragged-batch.ts';

/** Elements of a value before they are stored: f16 and f32 as numbers, i32 as whole numbers. */
export type Elements = Float32Array | Int32Array;

/** Fills a value's elements, row after row. */
export type Fill = (elements: Elements, random: () => number) => void;

/**
 * One use of operators, as data: what is recorded, for which batch, over which contents, and how far a device may be from
 * the reference device. The contract tests, benchmarks and support tables read the same list.
 */
export interface OpCase {
  /** The operator it is about; `layer` for several that devices like to fuse. */
  readonly op: OpKind | 'layer';
  /** Unique within the operator. */
  readonly name: string;
  readonly batch: RaggedBatch;
  /** Records the operators; gives the results to look at, by name. */
  record(g: GraphBuilder): Readonly<Record<string, Tensor>>;
  /** Contents of inputs, states and (f32) weights by name; normal numbers where none are given. */
  readonly fill?: Readonly<Record<string, Fill>>;
  /** Results that hold pairs of (id as i32 bits, number). */
  readonly pairs?: readonly string[];
  /** Largest normalized squared error, where the operator's own limit does not fit; `reason` says why. */
  readonly limit?: { readonly nmse: number; readonly reason: string };
}
