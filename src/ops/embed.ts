import type { Cost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { Tensor, Weight } from './value.ts';

/** `out[r, :] = decode(table[ids[r], :])`. An id outside the table gives a row of zeros. */
export interface EmbedOp {
  readonly kind: 'embed';
  readonly ids: Tensor;
  readonly table: Weight;
  readonly out: Tensor;
}

/** Looks up the batch's token ids: f32 [rows, table.columns]. */
export function embed(g: Recorder<EmbedOp>, table: Weight): Tensor {
  const out = g.temp('embed', { axis: 'rows', width: table.columns });
  g.push({ kind: 'embed', ids: g.batch.ids, table, out });
  return out;
}

/** Reads a stored row and writes a decoded one for each token. */
export function embedCost(op: EmbedOp, rows: number): Cost {
  const { format, columns } = op.table;
  return { bytes: rows * ((columns / format.blockElements) * format.blockBytes + 4 * columns), flops: 0 };
}
