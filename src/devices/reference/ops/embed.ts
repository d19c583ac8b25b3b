import type { EmbedOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

export function runEmbed(op: EmbedOp, frame: Frame): void {
  const ids = frame.matrix(op.ids);
  const out = frame.matrix(op.out);
  for (let row = 0; row < frame.rowsOf(op.out); row++) {
    const id = ids.scalar(row);
    const known = id >= 0 && id < op.table.rows;
    out.write(row, known ? frame.weightRow(op.table, id) : new Float64Array(op.out.width));
  }
}
