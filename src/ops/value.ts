import type { TensorFormat } from '../formats/tensor-format.ts';
import { type BlockType, isBlockType, stateBlockPlanes } from './state-blocks.ts';

/** The element type of an activation. Indices are i32, everything computed is f32. */
export type ElementType = 'f32' | 'f16' | 'i32';

/**
 * The element type of a state: an activation's, or blocks defined by `STATE_BLOCKS`, laid out by
 * `stateBlockPlanes`.
 */
export type StateType = ElementType | BlockType;

/** Bytes of one element. */
export const ELEMENT_BYTES: Readonly<Record<ElementType, number>> = { f32: 4, f16: 2, i32: 4 };

/**
 * What a tensor's leading dimension runs over: the token rows of the batch, the rows whose logits are needed, the
 * sequence slots, or nothing (one row). How many of `rows` and `outputs` are in use is known only when a step runs
 * (`BatchTensors.counts`); graphs are recorded for the capacity.
 */
export type Axis = 'rows' | 'outputs' | 'slots' | 'one';

/**
 * The capacities that a graph is recorded for: token rows, rows with logits, sequence slots, KV blocks per sequence.
 */
export interface BatchShape {
  readonly rows: number;
  readonly outputs: number;
  readonly slots: number;
  readonly blocksPerSlot: number;
}

/** An activation: a row-major matrix of `[capacity of axis, width]` elements. */
export interface Tensor {
  readonly kind: 'tensor';
  readonly id: number;
  readonly name: string;
  readonly role: 'input' | 'temp';
  readonly type: ElementType;
  readonly axis: Axis;
  readonly width: number;
}

/**
 * A weight by its name within the layer, as stored in the file: `rows` rows of `columns` elements (ggml's ne1 and ne0).
 * A vector has one row.
 */
export interface Weight {
  readonly kind: 'weight';
  readonly id: number;
  readonly name: string;
  readonly format: TensorFormat;
  readonly rows: number;
  readonly columns: number;
  /** Which part of the file's tensor it is, if it is a rank's shard. Default: all of it. */
  readonly shard?: WeightShard;
  /**
   * Where its bytes are, if not in memory of the device: `host` in the host's memory, which the device reads; `copies` are copies
   * of some of its matrices in the device's memory. What an operator computes does not depend on it.
   */
  readonly place?: 'host' | 'copies';
}

/** From `start` up to, but not including, `end`. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** The rows and columns of a tensor of which a rank's shard consists, in this order; columns are whole blocks of the format. */
export interface WeightShard {
  /** The tensor's own size. */
  readonly of: { readonly rows: number; readonly columns: number };
  readonly rows: readonly Range[];
  readonly columns: readonly Range[];
}

/** Memory that outlives the step: a matrix of `[rows, width]` that operators append to and read. */
export interface State {
  readonly kind: 'state';
  readonly id: number;
  readonly name: string;
  readonly type: StateType;
  readonly rows: number;
  readonly width: number;
}

/** Anything an operator refers to. */
export type Value = Tensor | Weight | State;

/**
 * The ragged batch as small index tensors, inputs of every graph. Rows of several sequences may be interleaved, but the
 * rows of one sequence are in order of position, and its earlier positions are already in its state.
 */
export interface BatchTensors {
  /** i32 [1, 2]: token rows and output rows in use. Rows beyond these are neither read nor written. */
  readonly counts: Tensor;
  /** i32 [rows, 1]: token ids. */
  readonly ids: Tensor;
  /** i32 [rows, 1]: position of the row's token in its sequence, from 0. */
  readonly positions: Tensor;
  /** i32 [rows, 1]: the sequence's slot. */
  readonly slots: Tensor;
  /** i32 [slots, 2]: the first of the slot's rows, and the row behind the last one; alike for a slot that has none. */
  readonly slotRows: Tensor;
  /** i32 [outputs, 1]: the rows whose logits are needed. */
  readonly outputRows: Tensor;
  /** i32 [slots, blocksPerSlot]: the cache block of positions `i * blockSize ...` of the slot's sequence. */
  readonly blocks: Tensor;
}

/** Row capacity of a tensor. */
export function capacityOf(axis: Axis, shape: BatchShape): number {
  return axis === 'one' ? 1 : shape[axis];
}

/** Bytes of a tensor for this batch shape. */
export function tensorBytes(tensor: Tensor, shape: BatchShape): number {
  return capacityOf(tensor.axis, shape) * tensor.width * ELEMENT_BYTES[tensor.type];
}

/** Bytes of a state. */
export function stateBytes({ type, rows, width }: State): number {
  if (isBlockType(type)) return stateBlockPlanes(type, rows, width).byteLength;
  return rows * width * ELEMENT_BYTES[type];
}

/** How many there are in ranges. */
export function lengthOf(ranges: readonly Range[]): number {
  return ranges.reduce((sum, { start, end }) => sum + end - start, 0);
}

/** Bytes of one row of a weight in the file. */
export function weightRowBytes({ format, columns }: Weight): number {
  return (columns / format.blockElements) * format.blockBytes;
}
