import type { GraphBuilder, OpGraph, OpKind, Output, Tensor, Weight } from '../../../src/ops/index.ts';
import type { RaggedBatch } from './ragged-batch.ts';

/** A value's elements before they are stored: f16 and f32 as numbers, i32 as integers. */
export type Elements = Float32Array | Int32Array;

/** Fills a value's elements, row by row. */
export type Fill = (elements: Elements, random: () => number) => void;

/**
 * A use of operators, as data: what to record, for which batch, with which contents, and how far a device may deviate
 * from the reference device. Contract tests, benchmarks and support tables read the same list.
 */
export interface OpCase {
  /** The operator under test; `layer` for several that devices tend to fuse. */
  readonly op: OpKind | 'layer';
  /** Unique within the operator. */
  readonly name: string;
  readonly batch: RaggedBatch;
  /** Records the operators; returns the results to compare, by name. */
  record(g: GraphBuilder): Readonly<Record<string, Tensor>>;
  /** Contents of inputs, states and (f32) weights by name; by default normal numbers. */
  readonly fill?: Readonly<Record<string, Fill>>;
  /** The standard deviation of a weight that nothing fills; by default 1. */
  readonly deviation?: (weight: Weight) => number;
  /** What the results' rows behind those in use may become, as `GraphBuilder.output` has it. */
  readonly unusedRows?: Output['unusedRows'];
  /** Whether weights may have dequantized copies, as the graph has it. */
  readonly dequantized?: OpGraph['dequantized'];
  /** Results that contain pairs of (id as i32 bits, number). */
  readonly pairs?: readonly string[];
  /** A limit on the normalized squared error instead of the operator's own, and the reason. */
  readonly limit?: { readonly nmse: number; readonly reason: string };
}
