import type { Axis } from '../../../ops/index.ts';
import type { CallTable } from './call-table.ts';
import type { BankAddress } from './command.ts';

/** How a task's work divides into chunks: a grid of row ranges and column ranges. Results never depend on it. */
export interface Split {
  /** What the rows are; their number is read when the step begins. */
  readonly axis: Axis;
  /** The rows are never divided. */
  readonly rowsTogether: boolean;
  /** 1 for tasks that work on whole rows: each call then runs all of its own columns. */
  readonly columns: number;
  /** Columns come in multiples of this. */
  readonly columnUnit: number;
  /** Columns of a chunk while there are few rows. */
  readonly columnGrain: number;
  /** The columns are divided even where there are enough rows to go round. */
  readonly byColumns: boolean;
}

/** Calls that run one after the other on each chunk, with addresses in one bank. */
export interface TaskTable {
  readonly bank: number;
  readonly split: Split;
  readonly calls: readonly CallTable[];
}

/** One executable: phases of tasks. The tasks of a phase are independent; all of a phase is done before the next begins. */
export interface SegmentTable {
  /** Where the numbers of token rows and output rows in use stand. */
  readonly counts: BankAddress;
  /** Capacities by axis; counts beyond them are cut. */
  readonly capacity: Readonly<Record<Axis, number>>;
  readonly phases: readonly (readonly TaskTable[])[];
}

/** A recorded step as plain data. */
export interface StepTable {
  readonly segments: readonly SegmentTable[];
}
