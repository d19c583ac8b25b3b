import { alignUp } from '../../../base/bytes.ts';
import type { Split } from '../protocol/step-table.ts';
import type { Task } from './schedule.ts';

/** A chunk this large pays for being handed out, and still fits into a core's own cache ... */
const LARGEST_CHUNK = 128 * 1024;

/** ... while a smaller one costs more to hand out than it gains in balance. */
const SMALLEST_CHUNK = 32 * 1024;

/** Chunks for each thread, so that a slow one can be helped out. */
const CHUNKS_A_THREAD = 4;

/** How a task is divided for a number of threads. */
export function splitOf(task: Task, threads: number): Split {
  const { axis, columns, calls, locality } = task;
  const rowsTogether = calls.some((call) => call.rowsTogether);
  if (locality === 'row') return { axis, rowsTogether, columns: 1, columnGrain: 1, byColumns: false };
  const unit = calls.reduce((most, call) => Math.max(most, call.columnUnit), 1);
  const columnBytes = calls.reduce((sum, call) => sum + call.columnBytes, 0);
  const even = (columns * columnBytes) / (threads * CHUNKS_A_THREAD);
  const bytes = Math.min(LARGEST_CHUNK, Math.max(SMALLEST_CHUNK, even));
  const columnGrain = Math.max(unit, alignUp(Math.floor(bytes / columnBytes), unit));
  return { axis, rowsTogether, columns, columnGrain, byColumns: locality === 'wide' };
}
