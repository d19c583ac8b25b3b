import type { Axis } from '../../../ops/index.ts';
import type { Split } from '../protocol/step-table.ts';
import type { BankInstance } from './bank-instance.ts';
import type { Chunked, RowCounts } from './chunked.ts';
import type { MatrixRows } from './matrix-rows.ts';
import { ShrinkingRanges } from './shrinking-ranges.ts';

/** The rows and columns to compute, and the total number of rows in use. */
export interface Chunk {
  firstRow: number;
  endRow: number;
  firstColumn: number;
  endColumn: number;
  rows: number;
}

/** The context in which a call runs. */
export interface CallPlace {
  readonly bank: BankInstance;
  readonly banks: (bank: number) => BankInstance;
  readonly capacity: Readonly<Record<Axis, number>>;
  readonly axis: Axis;
}

/** A kernel call with everything resolved, ready to run on any chunk. */
export interface KernelCall {
  /** Total number of columns. */
  readonly columns: number;
  run(chunk: Chunk): void;
  /** Set where parts of a row have matrices of their own. */
  readonly byMatrix?: MatrixCall;
}

/** The same call for the rows that have a matrix in common. */
export interface MatrixCall {
  readonly rows: MatrixRows;
  /** Computes the columns `first` to `end` of the parts that `rows` lists for a matrix. */
  run(rows: MatrixRows, matrix: number, first: number, end: number): void;
}

/** Ranges of rows or columns per thread if there are many rows. */
const RANGES_PER_THREAD = 8;

/** The same, of columns that are divided although there are several rows, if each takes as long. */
const EVEN_RANGES_PER_THREAD = 4;

/** Number of rows that are taken together from which even a few columns are substantial work. */
const MANY_ROWS = 16;

/** Ranges of columns per thread where rows are taken together by matrices, which have different numbers of rows. */
const MATRIX_RANGES_PER_THREAD = 6;

/** A task's grid of chunks. */
export class KernelTask implements Chunked {
  chunks = 0;
  readonly #axis: Axis;
  readonly #split: Split;
  readonly #calls: readonly KernelCall[];
  readonly #threads: number;
  readonly #chunk: Chunk = { firstRow: 0, endRow: 0, firstColumn: 0, endColumn: 0, rows: 0 };
  #rowGrain = 1;
  #columnGrain = 1;
  #columnRanges = 1;
  /** Those of many rows that are taken together, and whether these are in the open phase. */
  #shrinking: ShrinkingRanges | undefined;
  #shrinks = false;
  /** Of the calls, which agree on it; undefined where rows are not taken together by matrices. */
  readonly #matrixRows: MatrixRows | undefined;
  /** Whether they are, in the open phase, and whether this worker has looked which ones. */
  #byMatrix = false;
  #looked = false;

  constructor(split: Split, calls: readonly KernelCall[], threads: number) {
    this.#axis = split.axis;
    this.#split = split;
    this.#calls = calls;
    this.#threads = threads;
    const first = calls.find(({ byMatrix }) => byMatrix);
    this.#matrixRows = split.matrixColumns > 0 ? first?.byMatrix?.rows : undefined;
  }

  prepare(counts: RowCounts): void {
    const rows = counts[this.#axis];
    const { rowsTogether, columns, byColumns } = this.#split;
    this.#chunk.rows = rows;
    const matrixRows = rows > 1 ? this.#matrixRows : undefined;
    this.#byMatrix = matrixRows !== undefined;
    if (matrixRows) {
      this.#prepareMatrices(matrixRows, rows);
      return;
    }
    this.#shrinks = rowsTogether && rows >= MANY_ROWS;
    const ranges = rowsTogether ? 1 : Math.min(rows, this.#threads * RANGES_PER_THREAD);
    this.#rowGrain = Math.ceil(rows / Math.max(1, ranges));
    const divides = byColumns || rowsTogether || ranges < this.#threads * RANGES_PER_THREAD;
    this.#columnGrain = divides ? this.#grainOf(ranges) : columns;
    this.#columnRanges = this.#shrinks ? this.#ranges.count : Math.ceil(columns / this.#columnGrain);
    this.chunks = rows === 0 ? 0 : Math.ceil(rows / this.#rowGrain) * this.#columnRanges;
  }

  /** Work that is the same for all elements is divided no finer than balance takes: of a few rows, each would have as many chunks as one alone. */
  #grainOf(rowRanges: number): number {
    const { columns, columnUnit, columnGrain, byColumns, rowsTogether } = this.#split;
    if (byColumns || rowsTogether) return columnGrain;
    const even = (columns * rowRanges) / (this.#threads * EVEN_RANGES_PER_THREAD);
    return Math.max(columnGrain, Math.ceil(even / columnUnit) * columnUnit);
  }

  get #ranges(): ShrinkingRanges {
    const { columns, leastColumns } = this.#split;
    this.#shrinking ??= new ShrinkingRanges(columns, leastColumns, this.#threads);
    return this.#shrinking;
  }

  /** A chunk is some columns of one matrix, for all its rows; parts that have none are chunks, too. */
  #prepareMatrices({ matrices, parts }: MatrixRows, rows: number): void {
    const { matrixColumns, columnUnit } = this.#split;
    const ranges = Math.ceil((this.#threads * MATRIX_RANGES_PER_THREAD) / Math.min(matrices, rows * parts));
    this.#columnGrain = Math.ceil(matrixColumns / ranges / columnUnit) * columnUnit;
    this.#columnRanges = Math.ceil(matrixColumns / this.#columnGrain);
    this.#looked = false;
    this.chunks = (matrices + 1) * this.#columnRanges;
  }

  run(index: number): void {
    if (this.#byMatrix) this.#runMatrix(index);
    else this.#runRows(index);
  }

  #runMatrix(index: number): void {
    const rows = this.#matrixRows as MatrixRows;
    if (!this.#looked) rows.look(this.#chunk.rows);
    this.#looked = true;
    const matrix = Math.floor(index / this.#columnRanges);
    const first = (index % this.#columnRanges) * this.#columnGrain;
    const end = Math.min(this.#split.matrixColumns, first + this.#columnGrain);
    if (rows.countOf(matrix) === 0) return;
    for (const call of this.#calls) {
      if (call.byMatrix) call.byMatrix.run(rows, matrix, first, end);
      else this.#runParts(call, rows, matrix, first, end);
    }
  }

  /** A call for single elements, for those of the parts that a matrix has just computed. */
  #runParts(call: KernelCall, rows: MatrixRows, matrix: number, first: number, end: number): void {
    const chunk = this.#chunk;
    const count = rows.countOf(matrix);
    for (let i = 0; i < count; i++) {
      const part = rows.partOf(matrix, i);
      const column = (part % rows.parts) * this.#split.matrixColumns;
      chunk.firstRow = Math.floor(part / rows.parts);
      chunk.endRow = chunk.firstRow + 1;
      chunk.firstColumn = column + first;
      chunk.endColumn = column + end;
      call.run(chunk);
    }
  }

  #runRows(index: number): void {
    const chunk = this.#chunk;
    const row = Math.floor(index / this.#columnRanges) * this.#rowGrain;
    const range = index % this.#columnRanges;
    const column = this.#shrinks ? this.#ranges.begin(range) : range * this.#columnGrain;
    const end = this.#shrinks ? this.#ranges.end(range) : column + this.#columnGrain;
    chunk.firstRow = row;
    chunk.endRow = Math.min(chunk.rows, row + this.#rowGrain);
    const wholeRows = this.#split.columns === 1;
    for (const call of this.#calls) {
      chunk.firstColumn = wholeRows ? 0 : column;
      chunk.endColumn = wholeRows ? call.columns : Math.min(call.columns, end);
      call.run(chunk);
    }
  }
}
