import type { Axis } from '../../../ops/index.ts';
import { MAX_CHUNK } from './chunk-size.ts';
import type { Locality, LoweredCall } from '../lowering/lowered-call.ts';
import type { Operand } from '../lowering/operands.ts';

/** Calls that one worker runs one after the other on the same rows and columns. */
export interface ScheduledTask {
  readonly calls: LoweredCall[];
  readonly axis: Axis;
  readonly columns: number;
  /** Columns come in multiples of this. */
  columnUnit: number;
  /** `row` tasks run whole rows, the others may be divided by columns too. */
  locality: Locality;
  /** Set when the task became part of another one. */
  mergedInto: ScheduledTask | undefined;
}

/** Tasks that do not depend on each other. */
export type Phase = readonly ScheduledTask[];

/** Where a call stands. */
interface Position {
  readonly phase: number;
  readonly task: ScheduledTask;
}

/** Who has touched an operand so far. */
interface Use {
  writer: Position | undefined;
  readonly readers: Position[];
}

/**
 * Puts calls into few phases: each into the earliest one after everything it depends on, and into the same task as the
 * producers of its operands where it needs only what the same chunk has just computed. So a chain of row-wise operators, or
 * a matrix with its residual addition, runs without a barrier, and matrices that share an input run side by side. What
 * would leave a matrix in fewer than `chunks` chunks, and large ones, waits for a phase of its own.
 */
export function schedule(calls: readonly LoweredCall[], chunks: number): Phase[] {
  const scheduler = new Scheduler(chunks);
  for (const call of calls) scheduler.place(call);
  return scheduler.phases();
}

class Scheduler {
  readonly #phases: ScheduledTask[][] = [];
  readonly #uses = new Map<Operand, Use>();
  /** Readers of memory bound from outside: an output may lie over it, so it is written after they are done. */
  readonly #inputReaders: Position[] = [];

  constructor(readonly chunks: number) {}

  phases(): Phase[] {
    return this.#phases.map((tasks) => tasks.filter(({ mergedInto }) => !mergedInto));
  }

  place(call: LoweredCall): void {
    const at = this.#find(call);
    const operands = [...call.local, ...call.reads];
    for (const operand of operands) this.#use(operand).readers.push(at);
    for (const operand of [...call.writes, ...call.scatters]) this.#use(operand).writer = at;
    if (operands.some(isInput)) this.#inputReaders.push(at);
  }

  #find(call: LoweredCall): Position {
    const producers = call.local.map((operand) => this.#use(operand).writer).filter((at) => at !== undefined);
    const earliest = this.#earliest(call);
    const latest = producers.reduce((most, { phase }) => Math.max(most, phase), -1);
    if (latest >= earliest) {
      const near = producers.filter(({ phase }) => phase === latest).map(({ task }) => rootOf(task));
      const task = near[0];
      if (task && near.every((other) => this.#chains(other, call) && merges(task, other))) {
        for (const other of near) merge(task, other);
        append(task, call);
        return { phase: latest, task };
      }
    }
    return this.#startTask(call, Math.max(earliest, latest + 1));
  }

  /** The first phase that is behind everything the call depends on, operands of its own rows aside. */
  #earliest(call: LoweredCall): number {
    let earliest = 0;
    const after = (at: Position | undefined) => {
      if (at) earliest = Math.max(earliest, at.phase + 1);
    };
    for (const operand of call.reads) after(this.#use(operand).writer);
    for (const operand of call.scatters) {
      const { writer, readers } = this.#use(operand);
      after(writer);
      readers.forEach(after);
    }
    if (call.writes.some(({ origin }) => origin.kind === 'output')) this.#inputReaders.forEach(after);
    return earliest;
  }

  #startTask(call: LoweredCall, phase: number): Position {
    while (this.#phases.length <= phase) this.#phases.push([]);
    const { axis, locality, columns, columnUnit } = call;
    const task: ScheduledTask = { calls: [call], axis, columns, columnUnit, locality, mergedInto: undefined };
    this.#phases[phase]?.push(task);
    return { phase, task };
  }

  /** True when a call can follow on the chunk that a task has just computed. */
  #chains(task: ScheduledTask, call: LoweredCall): boolean {
    if (task.axis !== call.axis || call.locality === 'wide') return false;
    if (task.locality !== 'wide') return true;
    if (call.locality !== 'element' || call.columns !== task.columns) return false;
    const unit = leastCommonMultiple(task.columnUnit, call.columnUnit);
    const bytes = unit * task.calls.reduce((sum, { columnBytes }) => sum + columnBytes, 0);
    return unit === task.columnUnit || bytes <= MAX_CHUNK || task.columns >= unit * this.chunks;
  }

  #use(operand: Operand): Use {
    const known = this.#uses.get(operand);
    if (known) return known;
    const use: Use = { writer: undefined, readers: [] };
    this.#uses.set(operand, use);
    return use;
  }
}

function rootOf(task: ScheduledTask): ScheduledTask {
  return task.mergedInto ? rootOf(task.mergedInto) : task;
}

/** True when two tasks of one phase can run on the same chunks. */
function merges(task: ScheduledTask, other: ScheduledTask): boolean {
  if (task.axis !== other.axis) return false;
  return (task.locality === 'wide') === (other.locality === 'wide') && sameGrid(task, other);
}

function sameGrid(task: ScheduledTask, other: ScheduledTask): boolean {
  return task.locality !== 'wide' || task.columns === other.columns;
}

function merge(task: ScheduledTask, other: ScheduledTask): void {
  if (task === other) return;
  other.mergedInto = task;
  for (const call of other.calls) append(task, call);
}

function append(task: ScheduledTask, call: LoweredCall): void {
  task.calls.push(call);
  task.columnUnit = leastCommonMultiple(task.columnUnit, call.columnUnit);
  if (task.locality === 'element' && (call.locality === 'row' || call.columns !== task.columns)) {
    task.locality = 'row';
  }
}

function isInput({ origin }: Operand): boolean {
  return origin.kind === 'value' && origin.value.kind === 'tensor';
}

function leastCommonMultiple(a: number, b: number): number {
  let [divisor, rest] = [a, b];
  while (rest !== 0) [divisor, rest] = [rest, divisor % rest];
  return (a / divisor) * b;
}
