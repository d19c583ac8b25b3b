import type { Axis } from '../../../ops/index.ts';
import type { CallTable } from './call-table.ts';
import type { BankAddress } from './command.ts';

/** How a task's work is divided into chunks: a grid of row ranges and column ranges. Results never depend on it. */
export interface Split {
  /** The axis of the rows, whose number is read when the step starts. */
  readonly axis: Axis;
  /** Whether rows are never divided. */
  readonly rowsTogether: boolean;
  /** 1 for tasks that process whole rows: each call then covers all of its own columns. */
  readonly columns: number;
  /** Chunks have a multiple of this many columns. */
  readonly columnUnit: number;
  /** Columns per chunk while there are few rows. */
  readonly columnGrain: number;
  /** Columns of the smallest chunks of many rows that are taken together, of which larger ones have a multiple. */
  readonly leastColumns: number;
  /** Whether columns are divided even if there are enough rows for all threads. */
  readonly byColumns: boolean;
  /** Columns of a row that one matrix computes, if rows may be taken together by the matrices that they have in common; otherwise 0. */
  readonly matrixColumns: number;
}

/** Calls that run in sequence on each chunk, with addresses in one bank. */
export interface TaskTable {
  readonly bank: number;
  readonly split: Split;
  readonly calls: readonly CallTable[];
}

/** One executable: phases of tasks. The tasks of a phase are independent; a phase completes before the next starts. */
export interface SegmentTable {
  /** The address of the numbers of token rows and output rows in use. */
  readonly counts: BankAddress;
  /** Capacities by axis; larger counts are clamped. */
  readonly capacity: Readonly<Record<Axis, number>>;
  readonly phases: readonly (readonly TaskTable[])[];
}

/** A recorded step as plain data. */
export interface StepTable {
  readonly segments: readonly SegmentTable[];
}
