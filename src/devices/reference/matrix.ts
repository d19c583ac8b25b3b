import { floatToHalf, halfToFloat } from '../../base/half.ts';
import { quantizeStateBlock, STATE_BLOCK, stateBlockPlanes, type StateType } from '../../ops/index.ts';

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
  if (type === 'q8_0') return new BlockMatrix(bytes, rows, width);
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
    const values = new Float64Array(this.#elements.subarray(row * this.#width, (row + 1) * this.#width));
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

/** Blocks of a `q8_0` state. Values are rounded to f32 first, as on other devices. */
class BlockMatrix implements Matrix {
  readonly #width: number;
  readonly #quants: Int8Array;
  readonly #scales: Uint16Array;

  constructor({ buffer, byteOffset }: Uint8Array, rows: number, width: number) {
    const { scales } = stateBlockPlanes(rows, width);
    this.#width = width;
    this.#quants = new Int8Array(buffer, byteOffset, scales);
    this.#scales = new Uint16Array(buffer, byteOffset + scales, scales / STATE_BLOCK);
  }

  read(row: number): Float64Array {
    const values = new Float64Array(this.#width);
    for (let i = 0; i < values.length; i++) values[i] = this.scalar(row, i);
    return values;
  }

  write(row: number, values: ArrayLike<number>): void {
    const rounded = Float32Array.from(values);
    for (let at = 0; at < this.#width; at += STATE_BLOCK) {
      const start = row * this.#width + at;
      const quants = this.#quants.subarray(start, start + STATE_BLOCK);
      const scale = quantizeStateBlock(rounded.subarray(at, at + STATE_BLOCK), quants);
      this.#scales[start / STATE_BLOCK] = scale;
    }
  }

  scalar(row: number, column = 0): number {
    const at = row * this.#width + column;
    const scale = halfToFloat(this.#scales[Math.floor(at / STATE_BLOCK)] as number);
    return scale * (this.#quants[at] as number);
  }
}
