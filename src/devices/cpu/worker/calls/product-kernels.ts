import type { MatMatKernel, MatVecKernel } from '../../kernel-exports.ts';
import type { PlacedWeight } from '../../protocol/call-table.ts';
import {
  FILE_SCRATCH_BYTES,
  FLOAT_SCRATCH_BYTES,
  KERNEL_SCRATCH_BYTES,
  WEIGHT_SCRATCH_BYTES,
} from '../../protocol/reserved.ts';
import { HEADER_BYTES, QUAD_ROWS } from '../../weight-layouts.ts';
import type { BankInstance } from '../bank-instance.ts';
import type { CallPlace } from '../task.ts';
import { layoutOf } from './layout-of.ts';

/** A matrix's products: as `MatVecKernel` and `MatMatKernel`, without what is the same in each call. */
export interface ProductKernels {
  matVec(x: number, y: number, begin: number, end: number, lanes: number): void;
  matMat(x: number, y: number, begin: number, end: number, tokens: number, stride: number): void;
}

/** The products of a matrix, wherever it is, with activations in the task's bank. */
export function productKernels(weight: PlacedWeight, { bank, banks }: CallPlace): ProductKernels {
  const source = banks(weight.bank);
  const { matVec, matMat } = layoutOf(weight, bank);
  if (source === bank || (bank.isNative(matVec) && bank.isNative(matMat))) {
    const vector = bank.kernel<MatVecKernel>(matVec, source);
    const matrix = bank.kernel<MatMatKernel>(matMat, source);
    const { at, columns } = weight;
    const { scratch } = bank;
    return {
      matVec: (x, y, begin, end, lanes) => vector(at, x, y, begin, end, columns, lanes, scratch),
      matMat: (x, y, begin, end, tokens, stride) =>
        matrix(at, x, y, begin, end, columns, tokens, stride, scratch),
    };
  }
  return new BroughtProducts(weight, source, bank);
}

/**
 * WebAssembly's kernels see one memory: they get a matrix from another one in pieces, which stay in the core's caches. Copying between
 * memories takes a view of each piece, the only objects that a step makes.
 */
class BroughtProducts implements ProductKernels {
  readonly #bank: BankInstance;
  readonly #vector: MatVecKernel;
  readonly #matrix: MatMatKernel;
  readonly #columns: number;
  readonly #packed: Uint8Array;
  readonly #header: Uint8Array;
  readonly #quadBytes: number;
  /** Rows of a piece at most: whole quads. */
  readonly #most: number;
  /** Where a piece is brought: the matrix's header, and quads of it. */
  readonly #at: number;
  readonly #piece: Uint8Array;

  constructor(weight: PlacedWeight, source: BankInstance, bank: BankInstance) {
    const layout = layoutOf(weight, bank);
    this.#bank = bank;
    this.#vector = bank.kernel(layout.matVec);
    this.#matrix = bank.kernel(layout.matMat);
    this.#columns = weight.columns;
    this.#packed = source.bytes(weight.at, layout.packedBytes(weight.rows, weight.columns));
    this.#header = this.#packed.subarray(0, HEADER_BYTES);
    this.#quadBytes = layout.packedBytes(QUAD_ROWS, weight.columns) - HEADER_BYTES;
    this.#most = QUAD_ROWS * Math.floor((WEIGHT_SCRATCH_BYTES - HEADER_BYTES) / this.#quadBytes);
    this.#at = bank.scratch + KERNEL_SCRATCH_BYTES + FILE_SCRATCH_BYTES + FLOAT_SCRATCH_BYTES;
    this.#piece = bank.bytes(this.#at, WEIGHT_SCRATCH_BYTES);
  }

  matVec(x: number, y: number, begin: number, end: number, lanes: number): void {
    for (let row = begin; row < end; row += this.#most) {
      const count = this.#bring(row, end);
      this.#vector(this.#at, x, y + 4 * row, 0, count, this.#columns, lanes, this.#bank.scratch);
    }
  }

  matMat(x: number, y: number, begin: number, end: number, tokens: number, stride: number): void {
    for (let row = begin; row < end; row += this.#most) {
      const count = this.#bring(row, end);
      this.#matrix(this.#at, x, y + 4 * row, 0, count, this.#columns, tokens, stride, this.#bank.scratch);
    }
  }

  /** Copies the quads of the rows from `row`, a multiple of four, as many as a piece has, up to `end`. Returns their number. */
  #bring(row: number, end: number): number {
    const count = Math.min(this.#most, end - row);
    const from = HEADER_BYTES + (row / QUAD_ROWS) * this.#quadBytes;
    const bytes = Math.ceil(count / QUAD_ROWS) * this.#quadBytes;
    this.#piece.set(this.#header);
    this.#piece.set(this.#packed.subarray(from, from + bytes), HEADER_BYTES);
    return count;
  }
}
