import { alignUp } from '../../../base/bytes.ts';
import type { Split } from '../protocol/step-table.ts';
import { CHUNKS_A_THREAD, LARGEST_CHUNK, SMALLEST_CHUNK } from './chunk-size.ts';
import type { ScheduledTask } from './schedule.ts';

/** How a task is divided for a number of threads. */
export function splitOf(task: ScheduledTask, threads: number): Split {
  const { axis, columns, calls, locality } = task;
  const rowsTogether = calls.some((call) => call.rowsTogether);
  if (locality === 'row') {
    return { axis, rowsTogether, columns: 1, columnUnit: 1, columnGrain: 1, byColumns: false };
  }
  const unit = Math.min(columns, task.columnUnit);
  const columnBytes = calls.reduce((sum, call) => sum + call.columnBytes, 0);
  const even = (columns * columnBytes) / (threads * CHUNKS_A_THREAD);
  const bytes = Math.min(LARGEST_CHUNK, Math.max(SMALLEST_CHUNK, even));
  const columnGrain = Math.max(unit, alignUp(Math.floor(bytes / columnBytes), unit));
  return { axis, rowsTogether, columns, columnUnit: unit, columnGrain, byColumns: locality === 'wide' };
}
