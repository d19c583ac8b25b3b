import { floatToHalf, halfToFloat } from '../../base/half.ts';
import type { ElementType } from '../../ops/value.ts';

/** A row-major matrix of some stored type whose rows are read and written as f64. */
export class Matrix {
  readonly #elements: Float64Array | Float32Array | Int32Array | Uint16Array;
  readonly #half: boolean;

  private constructor(
    readonly width: number,
    elements: Float64Array | Float32Array | Int32Array | Uint16Array,
  ) {
    this.#elements = elements;
    this.#half = elements instanceof Uint16Array;
  }

  /** Bound memory in its declared type. */
  static over(bytes: Uint8Array, type: ElementType, width: number): Matrix {
    const { buffer, byteOffset, byteLength } = bytes;
    if (type === 'f16') return new Matrix(width, new Uint16Array(buffer, byteOffset, byteLength / 2));
    if (type === 'i32') return new Matrix(width, new Int32Array(buffer, byteOffset, byteLength / 4));
    return new Matrix(width, new Float32Array(buffer, byteOffset, byteLength / 4));
  }

  /** A temporary: nothing but NaN until it is computed. */
  static temporary(rows: number, width: number): Matrix {
    return new Matrix(width, new Float64Array(rows * width).fill(Number.NaN));
  }

  /** A copy of a row. */
  read(row: number): Float64Array {
    const stored = this.#elements.subarray(row * this.width, (row + 1) * this.width);
    return this.#half ? Float64Array.from(stored, halfToFloat) : Float64Array.from(stored);
  }

  /** Stores a row, rounded to the stored type. */
  write(row: number, values: ArrayLike<number>): void {
    const start = row * this.width;
    for (let i = 0; i < this.width; i++) {
      const value = values[i] as number;
      this.#elements[start + i] = this.#half ? floatToHalf(value) : value;
    }
  }

  /** Element 0 of a row: what index tensors of width 1 hold. */
  scalar(row: number): number {
    return this.#elements[row * this.width] as number;
  }
}
