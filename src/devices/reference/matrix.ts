import { floatToHalf, halfToFloat } from '../../base/half.ts';
import {
  type BlockType,
  isBlockType,
  STATE_BLOCK,
  STATE_BLOCKS,
  type StateBlockFormat,
  stateBlockPlanes,
  type StateType,
} from '../../ops/index.ts';

/** A row-major matrix of any stored type whose rows are read and written as f64. */
export interface Matrix {
  /** A copy of a row. */
  read(row: number): Float64Array;
  /** Stores a row, rounded to the stored type. */
  write(row: number, values: ArrayLike<number>): void;
  /** One element of a row, by default the first, for index tensors of width 1. */
  scalar(row: number, column?: number): number;
}

/** Bound memory in its declared type. */
export function matrixOver(
  bytes: Uint8Array,
  { type, rows, width }: { type: StateType; rows: number; width: number },
): Matrix {
  const { buffer, byteOffset } = bytes;
  const count = rows * width;
  if (isBlockType(type)) return new BlockMatrix(bytes, type, { rows, width });
  if (type === 'f16') return new PlainMatrix(width, new Uint16Array(buffer, byteOffset, count));
  if (type === 'i32') return new PlainMatrix(width, new Int32Array(buffer, byteOffset, count));
  return new PlainMatrix(width, new Float32Array(buffer, byteOffset, count));
}

/** A temporary, filled with NaN until it is computed. */
export function temporaryMatrix(rows: number, width: number): Matrix {
  return new PlainMatrix(width, new Float64Array(rows * width).fill(Number.NaN));
}

/** Elements stored individually. */
class PlainMatrix implements Matrix {
  readonly #width: number;
  readonly #elements: Float64Array | Float32Array | Int32Array | Uint16Array;
  readonly #half: boolean;

  constructor(width: number, elements: Float64Array | Float32Array | Int32Array | Uint16Array) {
    this.#width = width;
    this.#elements = elements;
    this.#half = elements instanceof Uint16Array;
  }

  read(row: number): Float64Array {
    const [from, to] = [row * this.#width, (row + 1) * this.#width];
    if (this.#elements instanceof Float64Array) return this.#elements.slice(from, to);
    const values = new Float64Array(this.#elements.subarray(from, to));
    if (this.#half) for (let i = 0; i < values.length; i++) values[i] = halfToFloat(values[i] as number);
    return values;
  }

  write(row: number, values: ArrayLike<number>): void {
    const start = row * this.#width;
    for (let i = 0; i < this.#width; i++) {
      const value = values[i] as number;
      this.#elements[start + i] = this.#half ? floatToHalf(value) : value;
    }
  }

  scalar(row: number, column = 0): number {
    return this.#elements[row * this.#width + column] as number;
  }
}

/** A state of blocks. Values are rounded to f32 first, as on other devices. */
class BlockMatrix implements Matrix {
  readonly #width: number;
  readonly #format: StateBlockFormat;
  readonly #quants: Uint8Array;
  readonly #scales: Uint8Array;

  constructor(bytes: Uint8Array, type: BlockType, { rows, width }: { rows: number; width: number }) {
    const { scales, byteLength } = stateBlockPlanes(type, rows, width);
    this.#width = width;
    this.#format = STATE_BLOCKS[type];
    this.#quants = bytes.subarray(0, scales);
    this.#scales = bytes.subarray(scales, byteLength);
  }

  read(row: number): Float64Array {
    const values = new Float64Array(this.#width);
    for (let at = 0; at < this.#width; at += STATE_BLOCK) {
      const [quants, scale] = this.#block(row, at);
      for (let i = 0; i < STATE_BLOCK; i++) values[at + i] = this.#format.element(quants, scale, i);
    }
    return values;
  }

  write(row: number, values: ArrayLike<number>): void {
    const rounded = Float32Array.from(values);
    for (let at = 0; at < this.#width; at += STATE_BLOCK) {
      this.#format.encode(rounded.subarray(at, at + STATE_BLOCK), ...this.#block(row, at));
    }
  }

  scalar(row: number, column = 0): number {
    return this.#format.element(...this.#block(row, column), column % STATE_BLOCK);
  }

  /** The quants and the scale of the block that holds an element. */
  #block(row: number, column: number): [quants: Uint8Array, scale: Uint8Array] {
    const block = Math.floor((row * this.#width + column) / STATE_BLOCK);
    const { quantBytes, scaleBytes } = this.#format;
    return [
      this.#quants.subarray(block * quantBytes, (block + 1) * quantBytes),
      this.#scales.subarray(block * scaleBytes, (block + 1) * scaleBytes),
    ];
  }
}
