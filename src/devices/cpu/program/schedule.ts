import type { Axis } from '../../../ops/index.ts';
import { MAX_CHUNK } from './chunk-size.ts';
import type { Locality, LoweredCall } from '../lowering/lowered-call.ts';
import type { Operand } from '../lowering/operands.ts';

/** Calls that one worker runs in sequence on the same rows and columns. */
export interface ScheduledTask {
  readonly calls: LoweredCall[];
  readonly axis: Axis;
  readonly columns: number;
  /** Chunks have a multiple of this many columns. */
  columnUnit: number;
  /** `row` tasks process whole rows; others may also be divided by columns. */
  locality: Locality;
  /** Set when the task has been merged into another one. */
  mergedInto: ScheduledTask | undefined;
}

/** Tasks that do not depend on each other. */
export type Phase = readonly ScheduledTask[];

/** The position of a call in the schedule. */
interface Position {
  readonly phase: number;
  readonly task: ScheduledTask;
}

/** The calls that have accessed an operand so far. */
interface Use {
  writer: Position | undefined;
  readonly readers: Position[];
}

/**
 * Arranges calls in few phases: each in the earliest phase after everything it depends on, and in the same task as the
 * producers of its operands if it needs only what the same chunk has just computed. So a chain of row-wise operators,
 * or a matrix product with its residual addition, runs without a barrier, and products that share an input run side by
 * side. A call that would leave a matrix with fewer than `chunks` chunks, and large ones, waits for a phase of its own.
 */
export function schedule(calls: readonly LoweredCall[], chunks: number): Phase[] {
  const scheduler = new Scheduler(chunks);
  for (const call of calls) scheduler.place(call);
  return scheduler.phases();
}

class Scheduler {
  readonly #phases: ScheduledTask[][] = [];
  readonly #uses = new Map<Operand, Use>();
  /** Readers of externally bound memory: an output may overlap it, so it is written after they are done. */
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

  /** The first phase after everything the call depends on, except operands of its own rows. */
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

  /** Whether a call can continue on the chunk that a task has just computed. */
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

/** Whether two tasks of one phase can run on the same chunks. */
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
