import type { Axis } from '../../../ops/index.ts';
import type { SegmentTable, StepTable } from '../protocol/step-table.ts';
import type { BankInstance } from './bank-instance.ts';
import { buildCall } from './build-call.ts';
import type { Phase, RowCounts } from './chunked.ts';
import { KernelTask } from './task.ts';

/** Finds a bank's kernels; throws for a bank that was not announced. */
export type BankLookup = (bank: number) => BankInstance;

/** A phase of an executable: tasks that are independent of each other. */
class StepPhase implements Phase {
  readonly #counts: Int32Array;
  readonly #capacity: Readonly<Record<Axis, number>>;
  readonly #inUse: RowCounts;
  readonly #tasks: readonly KernelTask[];

  constructor(tasks: readonly KernelTask[], counts: Int32Array, capacity: Readonly<Record<Axis, number>>) {
    this.#tasks = tasks;
    this.#counts = counts;
    this.#capacity = capacity;
    this.#inUse = { ...capacity };
  }

  prepare(): number {
    const inUse = this.#inUse;
    inUse.rows = clamp(Atomics.load(this.#counts, 0), this.#capacity.rows);
    inUse.outputs = clamp(Atomics.load(this.#counts, 1), this.#capacity.outputs);
    let chunks = 0;
    for (const task of this.#tasks) {
      task.prepare(inUse);
      chunks += task.chunks;
    }
    return chunks;
  }

  run(chunk: number): void {
    let left = chunk;
    for (const task of this.#tasks) {
      if (left < task.chunks) {
        task.run(left);
        return;
      }
      left -= task.chunks;
    }
  }
}

/** A step's phases as run by this worker, with every kernel, address and view resolved. Nothing is allocated while they run. */
export function stepPhases(table: StepTable, threads: number, banks: BankLookup): readonly Phase[] {
  return table.segments.flatMap((segment) => segmentPhases(segment, threads, banks));
}

function segmentPhases(
  { counts, capacity, phases }: SegmentTable,
  threads: number,
  banks: BankLookup,
): Phase[] {
  const words = banks(counts.bank).words(counts.offset, 2);
  return phases.map((tasks) => {
    const built = tasks.map(({ bank, split, calls }) => {
      const place = { bank: banks(bank), banks, capacity, axis: split.axis };
      return new KernelTask(
        split,
        calls.map((call) => buildCall(call, place)),
        threads,
      );
    });
    return new StepPhase(built, words, capacity);
  });
}

function clamp(count: number, capacity: number): number {
  return Math.max(0, Math.min(count, capacity));
}
