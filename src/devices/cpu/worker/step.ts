import type { Axis } from '../../../ops/index.ts';
import type { SegmentTable, StepTable } from '../protocol/step-table.ts';
import type { BankInstance } from './bank-instance.ts';
import { buildCall } from './build-call.ts';
import type { RowCounts } from './chunked.ts';
import type { PhaseRunner } from './phase-runner.ts';
import { KernelTask } from './task.ts';

/** Finds a bank's kernels; throws for a bank that was not announced. */
export type BankLookup = (bank: number) => BankInstance;

/** One executable of a step, with every kernel, address and view resolved. */
class Segment {
  readonly #counts: Int32Array;
  readonly #capacity: Readonly<Record<Axis, number>>;
  readonly #phases: readonly (readonly KernelTask[])[];
  readonly #inUse: RowCounts;

  constructor(table: SegmentTable, threads: number, banks: BankLookup) {
    const { counts, capacity, phases } = table;
    this.#counts = banks(counts.bank).words(counts.offset, 2);
    this.#capacity = capacity;
    this.#inUse = { ...capacity };
    this.#phases = phases.map((tasks) =>
      tasks.map(({ bank, split, calls }) => {
        const built = calls.map((call) =>
          buildCall(call, { bank: banks(bank), banks, capacity, axis: split.axis }),
        );
        return new KernelTask(split, built, threads);
      }),
    );
  }

  run(runner: PhaseRunner): void {
    const inUse = this.#inUse;
    inUse.rows = clamp(Atomics.load(this.#counts, 0), this.#capacity.rows);
    inUse.outputs = clamp(Atomics.load(this.#counts, 1), this.#capacity.outputs);
    for (const tasks of this.#phases) runner.phase(tasks, inUse);
  }
}

/** A step as run by this worker. Nothing is allocated while it runs. */
export class WorkerStep {
  readonly #segments: readonly Segment[];

  constructor(table: StepTable, threads: number, banks: BankLookup) {
    this.#segments = table.segments.map((segment) => new Segment(segment, threads, banks));
  }

  run(runner: PhaseRunner): void {
    for (const segment of this.#segments) segment.run(runner);
  }
}

function clamp(count: number, capacity: number): number {
  return Math.max(0, Math.min(count, capacity));
}
