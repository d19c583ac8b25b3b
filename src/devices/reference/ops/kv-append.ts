import type { KvAppendOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';
import { cellOf } from './paged-cell.ts';

export function runKvAppend({ k, v, cache, batch }: KvAppendOp, frame: Frame): void {
  for (let row = 0; row < frame.rowsOf(k); row++) {
    const slot = frame.matrix(batch.slots).scalar(row);
    const position = frame.matrix(batch.positions).scalar(row);
    if (position < 0) continue;
    const cell = cellOf(frame, { cache, batch, slot, position });
    frame.matrix(cache.keys).write(cell, frame.matrix(k).read(row));
    if (cache.values && v) frame.matrix(cache.values).write(cell, frame.matrix(v).read(row));
  }
}
