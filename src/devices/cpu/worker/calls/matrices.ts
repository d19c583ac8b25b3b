import type { MatmulExpertsOp, MatmulHeadsOp } from '../../../../ops/index.ts';
import type { Placed } from '../../protocol/call-table.ts';
import { FILE_SCRATCH_BYTES, FLOAT_SCRATCH_BYTES, KERNEL_SCRATCH_BYTES } from '../../protocol/reserved.ts';
import { RECORD_BYTES, recordBytes, TILE_ROWS } from '../../weight-layouts.ts';
import type { BankInstance } from '../bank-instance.ts';
import { ChosenMatrices, type MatrixRows, OwnMatrices } from '../matrix-rows.ts';
import type { CallPlace, Chunk, KernelCall } from '../task.ts';
import { layoutOf } from './layout-of.ts';
import { lanesOf } from './matmul.ts';
import { type ProductKernels, productKernels } from './product-kernels.ts';

type MatricesOp = Placed<MatmulExpertsOp> | Placed<MatmulHeadsOp>;

export function matmulExpertsCall(
  of: Placed<MatmulExpertsOp>,
  bank: BankInstance,
  capacity: number,
  place: CallPlace,
): KernelCall {
  const parts = of.out.width / of.outputs;
  const experts = bank.words(of.expertIds.at, capacity * parts);
  const rows = new ChosenMatrices(experts, parts, of.weight.rows / of.outputs);
  const product = new MatricesProduct(of, place, capacity);
  return product.call(rows, (row, choice) => experts[row * parts + choice] as number);
}

/** Each part of a row uses the matrix of its own index. */
export function matmulHeadsCall(
  of: Placed<MatmulHeadsOp>,
  _: BankInstance,
  capacity: number,
  place: CallPlace,
): KernelCall {
  const product = new MatricesProduct(of, place, capacity);
  return product.call(new OwnMatrices(of.out.width / of.outputs), (_, head) => head);
}

/** Products of parts of rows with one of a weight's matrices each; those with nonexistent matrices are zero. */
class MatricesProduct {
  readonly #of: MatricesOp;
  readonly #bank: BankInstance;
  readonly #kernels: ProductKernels;
  readonly #out: Float32Array;
  readonly #inRecords: boolean;
  /** Whether each part of a row of the result has a part of a row of `x`. */
  readonly #hasParts: boolean;
  /** Bytes of a row of `x`, and of a row of one part. */
  readonly #rowBytes: number;
  readonly #partBytes: number;

  constructor(of: MatricesOp, place: CallPlace, capacity: number) {
    const { weight, x, out } = of;
    this.#of = of;
    this.#bank = place.bank;
    this.#kernels = productKernels(weight, place);
    this.#out = place.bank.floats(out.at, capacity * out.width);
    this.#inRecords = layoutOf(weight, place.bank).activations === 'records';
    this.#hasParts = x.width > weight.columns;
    const bytesOf = (columns: number) => (this.#inRecords ? recordBytes(1, columns) : 4 * columns);
    this.#rowBytes = bytesOf(x.width);
    this.#partBytes = bytesOf(weight.columns);
  }

  call(rows: MatrixRows, matrixOf: (row: number, part: number) => number): KernelCall {
    const { outputs } = this.#of;
    const columns = this.#of.out.width;
    const run = (common: MatrixRows, matrix: number, first: number, end: number) =>
      this.#common(common, matrix, first, end);
    return {
      columns,
      ...(this.#most > 1 && { byMatrix: { rows, run } }),
      run: ({ firstRow, endRow, firstColumn, endColumn, rows: all }: Chunk) => {
        const lanes = lanesOf(all);
        for (let row = firstRow; row < endRow; row++) {
          for (let column = firstColumn; column < endColumn;) {
            const part = Math.floor(column / outputs);
            const end = Math.min(endColumn, (part + 1) * outputs);
            this.#single(matrixOf(row, part), row, part, lanes, column % outputs, end - part * outputs);
            column = end;
          }
        }
      },
    };
  }

  /** Rows that are taken together at most. */
  get #most(): number {
    const whole = Math.floor(FILE_SCRATCH_BYTES / this.#partBytes);
    return Math.floor(whole / TILE_ROWS) * TILE_ROWS;
  }

  /** The start of a part of a row of `x`, of which `lanes` are interleaved if they are records. */
  #partAt(row: number, part: number, lanes: number): number {
    const own = this.#hasParts ? part : 0;
    const { at } = this.#of.x;
    if (!this.#inRecords) return at + row * this.#rowBytes + own * this.#partBytes;
    const lane = row % lanes;
    return at + (row - lane) * this.#rowBytes + lane * RECORD_BYTES + own * lanes * this.#partBytes;
  }

  /** The columns `first` to `end` of one part of one row. */
  #single(matrix: number, row: number, part: number, lanes: number, first: number, end: number): void {
    const { weight, outputs, out } = this.#of;
    const from = row * out.width + part * outputs + first;
    if (matrix < 0 || matrix >= weight.rows / outputs) {
      this.#out.fill(0, from, from + end - first);
      return;
    }
    const begin = matrix * outputs + first;
    // The kernel adds the weight's row to the output's address; addresses wrap around.
    const y = out.at + 4 * (from - begin);
    const x = this.#partAt(row, part, lanes);
    this.#kernels.matVec(x, y, begin, begin + end - first, lanes);
    this.#addBias(begin, out.at + 4 * from, end - first);
  }

  #addBias(begin: number, to: number, count: number): void {
    const bias = this.#of.kind === 'matmulExperts' ? this.#of.bias : undefined;
    if (bias) this.#bank.kernels.add(to, bias.at + 4 * begin, to, count);
  }

  /** The parts that have a matrix in common: the weights are read once for all of them. */
  #common(rows: MatrixRows, matrix: number, first: number, end: number): void {
    const { parts } = rows;
    const count = rows.countOf(matrix);
    const kept = Math.min(this.#most, Math.floor(FLOAT_SCRATCH_BYTES / (4 * (end - first))));
    const most = matrix < rows.matrices ? Math.max(1, kept) : 1;
    for (let done = 0; done < count; done += most) {
      const some = Math.min(most, count - done);
      if (some > 1) this.#several(rows, matrix, done, some, first, end);
      else {
        const part = rows.partOf(matrix, done);
        this.#single(matrix, Math.floor(part / parts), part % parts, TILE_ROWS, first, end);
      }
    }
  }

  /** `some` of a matrix's parts, from `done` on: their activations are brought together, and their results back. */
  #several(rows: MatrixRows, matrix: number, done: number, some: number, first: number, end: number): void {
    const { outputs, out } = this.#of;
    const { scratch, kernels } = this.#bank;
    const together = scratch + KERNEL_SCRATCH_BYTES;
    const products = together + FILE_SCRATCH_BYTES;
    for (let i = 0; i < some; i++) {
      const part = rows.partOf(matrix, done + i);
      this.#bring(this.#partAt(Math.floor(part / rows.parts), part % rows.parts, TILE_ROWS), together, i);
    }
    const begin = matrix * outputs + first;
    const columns = end - first;
    const y = products - 4 * begin;
    this.#kernels.matMat(together, y, begin, begin + columns, some, columns);
    for (let i = 0; i < some; i++) {
      const to = out.at + 4 * (rows.partOf(matrix, done + i) * outputs + first);
      kernels.copyWords(products + 4 * columns * i, to, columns);
      this.#addBias(begin, to, columns);
    }
  }

  /** Copies a part of a row, one of several, to its place among rows that are taken together. */
  #bring(x: number, together: number, index: number): void {
    const { kernels } = this.#bank;
    if (!this.#inRecords) {
      kernels.copyWords(x, together + index * this.#partBytes, this.#of.weight.columns);
      return;
    }
    const lane = index % TILE_ROWS;
    const to = together + (index - lane) * this.#partBytes + lane * RECORD_BYTES;
    kernels.copyRecords(x, to, this.#partBytes / RECORD_BYTES);
  }
}
