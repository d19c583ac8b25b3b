import { type BatchShape, capacityOf } from '../../../ops/index.ts';
import type { Allocation, BankSet } from '../memory/bank-set.ts';
import type { Place } from '../memory/cpu-buffer.ts';
import type { LoweredCall } from '../lowering/lowered-call.ts';
import { withAddresses } from '../protocol/call-table.ts';
import type { BankAddress } from '../protocol/command.ts';
import type { SegmentTable, Split, StepTable, TaskTable } from '../protocol/step-table.ts';
import type { CpuExecutable } from './cpu-program.ts';
import type { Phase, ScheduledTask } from './schedule.ts';
import type { Operand } from '../lowering/operands.ts';
import { Staging, type StagingRound, type StagedCopies } from './staging.ts';
import { alignUp } from '../../../base/bytes.ts';
import { CHUNKS_PER_THREAD, LEAST_CHUNK, MAX_CHUNK, MIN_CHUNK } from './chunk-size.ts';

/** A step's table, and the memory that it allocated for operands in other banks than their task. */
export interface BuiltStep {
  readonly table: StepTable;
  readonly staging: readonly Allocation[];
}

/**
 * Creates the table of a step. Throws `OUT_OF_MEMORY` if operands of one task are in several banks and none has room.
 */
export function buildStep(
  executables: readonly CpuExecutable[],
  of: { banks: BankSet; threads: number; label: string },
): BuiltStep {
  const staging = new Staging();
  const segments = executables.map((executable) =>
    new SegmentBuilder(executable, staging, of.threads).build(),
  );
  const allocations = staging.allocate(of.banks, `staging of ${of.label}`);
  const tables = segments.map((finish) => finish());
  return { table: { segments: withFirstPhase(tables, staging.kept()) }, staging: [...allocations.values()] };
}

/** The segments, with tasks that come before all others. */
function withFirstPhase(
  [first, ...others]: readonly SegmentTable[],
  tasks: readonly TaskTable[],
): SegmentTable[] {
  if (!first) return others;
  const phases = tasks.length > 0 ? [tasks, ...first.phases] : first.phases;
  return [{ ...first, phases }, ...others];
}

/** Builds one executable's phases. Staging addresses are known only at the end, so each piece is a function. */
class SegmentBuilder {
  readonly #executable: CpuExecutable;
  readonly #staging: Staging;
  readonly #threads: number;

  constructor(executable: CpuExecutable, staging: Staging, threads: number) {
    this.#executable = executable;
    this.#staging = staging;
    this.#threads = threads;
  }

  build(): () => SegmentTable {
    const { program, places } = this.#executable;
    const counts = places[program.counts.id] as Place;
    const { shape } = program.graph;
    const phases = program.phases.flatMap((phase) => this.#phase(phase));
    return () => ({
      counts: { bank: counts.bank, offset: counts.offset },
      capacity: capacitiesOf(shape),
      phases: phases.map((tasks) => tasks.map((task) => task())),
    });
  }

  /** The phase, with one before and one after it if operands have to be copied. */
  #phase(phase: Phase): (() => TaskTable)[][] {
    const round = this.#staging.round();
    const tasks = phase.map((task) => this.#task(task, round));
    const { before, after } = round;
    return [before, tasks, after].filter(({ length }) => length > 0);
  }

  #task(task: ScheduledTask, round: StagingRound): () => TaskTable {
    const { places, program } = this.#executable;
    const split = splitOf(task, this.#threads);
    const operands = operandsOf(task);
    const bank = homeOf([...operands.keys()], places);
    const brought = new Map<number, () => number>();
    for (const [operand, written] of operands) {
      const place = places[operand.id] as Place;
      if (place.bank === bank) continue;
      const copies = stagedCopiesOf(operand, { written, shared: program.isShared(operand) });
      brought.set(operand.id, round.bring({ operand, place, bank, copies }));
    }
    const addressOf = (id: number): BankAddress => {
      const offset = brought.get(id)?.();
      return offset === undefined ? (places[id] as Place) : { bank, offset };
    };
    return () => ({ bank, split, calls: task.calls.map(({ table }) => withAddresses(table, addressOf)) });
  }
}

/**
 * The directions in which an operand's bytes are copied. Scratch is written completely by its producer, and read only
 * by its consumers.
 */
function stagedCopiesOf({ origin }: Operand, of: { written: boolean; shared: boolean }): StagedCopies {
  if (origin.kind !== 'scratch') return { copiesIn: true, copiesOut: of.written };
  return { copiesIn: !of.written, copiesOut: of.written && of.shared };
}

/** A task's operands that its kernels need in one bank, and whether it writes each of them. */
function operandsOf({ calls }: ScheduledTask): Map<Operand, boolean> {
  const operands = new Map<Operand, boolean>();
  for (const { local, reads, writes, scatters } of calls) {
    for (const operand of [...local, ...reads]) operands.set(operand, operands.get(operand) ?? false);
    for (const operand of [...writes, ...scatters]) operands.set(operand, true);
  }
  return operands;
}

/** The bank that holds most of the bytes; operands in other banks are copied to it. */
function homeOf(operands: readonly Operand[], places: readonly Place[]): number {
  const bytes = new Map<number, number>();
  for (const operand of operands) {
    const { bank } = places[operand.id] as Place;
    bytes.set(bank, (bytes.get(bank) ?? 0) + operand.byteLength);
  }
  let home = 0;
  let most = -1;
  for (const [bank, sum] of bytes) {
    if (sum > most) [home, most] = [bank, sum];
  }
  return home;
}

function capacitiesOf(shape: BatchShape): SegmentTable['capacity'] {
  return {
    rows: capacityOf('rows', shape),
    outputs: capacityOf('outputs', shape),
    slots: capacityOf('slots', shape),
    one: 1,
  };
}

/** How a task is divided among a number of threads. */
function splitOf(task: ScheduledTask, threads: number): Split {
  const { axis, columns, calls, locality } = task;
  const rowsTogether = calls.some((call) => call.rowsTogether);
  if (locality === 'row') {
    const whole = { columns: 1, columnUnit: 1, columnGrain: 1, leastColumns: 1 };
    return { axis, rowsTogether, ...whole, byColumns: false, matrixColumns: 0 };
  }
  const unit = Math.min(columns, task.columnUnit);
  const columnBytes = calls.reduce((sum, call) => sum + call.columnBytes, 0);
  const even = (columns * columnBytes) / (threads * CHUNKS_PER_THREAD);
  const bytes = Math.min(MAX_CHUNK, Math.max(MIN_CHUNK, even));
  const most = Math.max(unit, Math.floor(bytes / columnBytes));
  const columnUnit = rowsTogether ? bandOf(unit, most) : unit;
  const columnGrain = alignUp(most, columnUnit);
  const least = Math.max(unit, Math.floor(LEAST_CHUNK / columnBytes));
  const leastColumns = alignUp(least, columns < threads * BAND ? unit : bandOf(unit, BAND));
  const matrixColumns = matrixColumnsOf(calls, columnUnit);
  return {
    axis,
    rowsTogether,
    columns,
    columnUnit,
    columnGrain,
    leastColumns,
    byColumns: locality === 'wide',
    matrixColumns,
  };
}

/** `Split.matrixColumns`: all calls agree on which matrix computes which elements, or work on single elements. */
function matrixColumnsOf(calls: readonly LoweredCall[], unit: number): number {
  const of = calls.find(({ matrices }) => matrices)?.matrices;
  if (!of || of.columns % unit !== 0) return 0;
  const agree = calls.every(({ matrices, locality }) =>
    matrices ? matrices.chosen === of.chosen && matrices.columns === of.columns : locality === 'element',
  );
  return agree ? of.columns : 0;
}

/** Rows of weights that native kernels unpack together at most: fewer take them as long. */
const BAND = 32;

/** A unit of whole bands, for chunks of about `most` columns, if these hold one. */
function bandOf(unit: number, most: number): number {
  return BAND % unit === 0 && most >= BAND ? BAND : unit;
}
