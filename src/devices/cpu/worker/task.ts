import type { Axis } from '../../../ops/index.ts';
import type { Split } from '../protocol/step-table.ts';
import type { BankInstance } from './bank-instance.ts';
import type { Chunked, RowCounts } from './chunked.ts';

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
}

/** Ranges of rows or columns per thread if there are many rows. */
const RANGES_PER_THREAD = 8;

/** Number of rows from which even a few columns are substantial work. */
const MANY_ROWS = 16;

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

  constructor(split: Split, calls: readonly KernelCall[], threads: number) {
    this.#axis = split.axis;
    this.#split = split;
    this.#calls = calls;
    this.#threads = threads;
  }

  prepare(counts: RowCounts): void {
    const rows = counts[this.#axis];
    const { rowsTogether, columns, byColumns } = this.#split;
    this.#chunk.rows = rows;
    const ranges = rowsTogether ? 1 : Math.min(rows, this.#threads * RANGES_PER_THREAD);
    this.#rowGrain = Math.ceil(rows / Math.max(1, ranges));
    const divides = byColumns || rowsTogether || ranges < this.#threads * RANGES_PER_THREAD;
    this.#columnGrain = divides ? this.#grainFor(rows) : columns;
    this.#columnRanges = Math.ceil(columns / this.#columnGrain);
    this.chunks = rows === 0 ? 0 : Math.ceil(rows / this.#rowGrain) * this.#columnRanges;
  }

  /** With many rows, a chunk with any number of columns is enough work, so there are just enough chunks for balance. */
  #grainFor(rows: number): number {
    const { rowsTogether, columns, columnUnit, columnGrain } = this.#split;
    if (!rowsTogether || rows < MANY_ROWS) return columnGrain;
    const even = columns / (this.#threads * RANGES_PER_THREAD);
    return Math.max(columnGrain, Math.ceil(even / columnUnit) * columnUnit);
  }

  run(index: number): void {
    const chunk = this.#chunk;
    const row = Math.floor(index / this.#columnRanges) * this.#rowGrain;
    const column = (index % this.#columnRanges) * this.#columnGrain;
    chunk.firstRow = row;
    chunk.endRow = Math.min(chunk.rows, row + this.#rowGrain);
    const wholeRows = this.#split.columns === 1;
    for (const call of this.#calls) {
      chunk.firstColumn = wholeRows ? 0 : column;
      chunk.endColumn = wholeRows ? call.columns : Math.min(call.columns, column + this.#columnGrain);
      call.run(chunk);
    }
  }
}
