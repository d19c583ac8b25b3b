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

/** Looks up token ids, i32 [rows, 1]: f32 [rows, table.columns]. */
export function embed(g: Recorder<EmbedOp>, table: Weight, ids = g.batch.ids): Tensor {
  g.require(ids.type === 'i32' && ids.axis === 'rows' && ids.width === 1, 'token ids are one a row');
  const out = g.temp('embed', { axis: 'rows', width: table.columns });
  g.push({ kind: 'embed', ids, table, out });
  return out;
}

/** Reads a stored row and writes a decoded one for each token. */
export function embedCost(op: EmbedOp, rows: number): Cost {
  const { format, columns } = op.table;
  return { bytes: rows * ((columns / format.blockElements) * format.blockBytes + 4 * columns), flops: 0 };
}
