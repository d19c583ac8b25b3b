import { alibiSlope, type AttentionOp, scaleAt, valueStride, visibleRange } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';
import type { Matrix } from '../matrix.ts';
import { dot } from './dot.ts';
import { cellOf } from './paged-cell.ts';

export function runAttention(op: AttentionOp, frame: Frame): void {
  const { cache, batch, heads, kvHeads, keySize, valueSize } = op;
  const keyOf = rowsOnce(frame.matrix(cache.keys));
  const valueOf = cache.values ? rowsOnce(frame.matrix(cache.values)) : keyOf;
  const stride = valueStride(op);
  const sinks = op.sinks && frame.weightRow(op.sinks, 0);
  const tables = batch.slots.width;
  for (let row = 0; row < frame.rowsOf(op.out); row++) {
    const q = frame.matrix(op.q).read(row);
    const out = new Float64Array(op.out.width);
    // Each group of heads by the positions in its own row of the block table.
    for (let table = 0; table < tables; table++) {
      const slot = frame.matrix(batch.slots).scalar(row, table);
      const limit = frame.matrix(op.causalLimit).scalar(row, table);
      const own = op.positions && frame.matrix(op.positions).scalar(row);
      const { first, last } = visibleRange(op, limit, own);
      const positions = Array.from({ length: last + 1 - first }, (_, i) => first + i);
      const cells = positions.map((position) => cellOf(frame, { cache, batch, slot, position }));
      const scale = scaleAt(op, last);
      const keys = cells.map(keyOf);
      const values = cells.map(valueOf);
      for (let head = (table * heads) / tables; head < ((table + 1) * heads) / tables; head++) {
        const shared = Math.floor(head / (heads / kvHeads));
        const query = q.subarray(head * keySize, (head + 1) * keySize);
        const slope = alibiSlope(op, head);
        const scores = keys.map((key, at) => {
          const score = capped(scale * dot(query, key, shared * keySize), op.softCap);
          return score - slope * Math.abs((positions[at] as number) - (own ?? last));
        });
        const weights = softmax(scores, sinks?.[head]);
        const sums = out.subarray(head * valueSize, (head + 1) * valueSize);
        for (const [at, value] of values.entries())
          addScaled(sums, weights[at] as number, value, shared * stride);
      }
    }
    frame.matrix(op.out).write(row, out);
  }
}

/** Reads each row of a matrix once, because the rows of a prompt attend to the same cells. */
function rowsOnce(matrix: Matrix): (row: number) => Float64Array {
  const rows = new Map<number, Float64Array>();
  return (row) => {
    const known = rows.get(row) ?? matrix.read(row);
    rows.set(row, known);
    return known;
  };
}

/** Adds to the sums as many values from `start` on, times a weight. */
function addScaled(sums: Float64Array, weight: number, values: Float64Array, start: number): void {
  for (let i = 0; i < sums.length; i++)
    sums[i] = (sums[i] as number) + weight * (values[start + i] as number);
}

function capped(score: number, softCap: number | undefined): number {
  return softCap === undefined ? score : softCap * Math.tanh(score / softCap);
}

/** The softmax of the scores; a sink takes part but has no value. */
function softmax(scores: readonly number[], sink = -Infinity): number[] {
  const largest = scores.reduce((a, b) => Math.max(a, b), sink);
  const weights = scores.map((score) => Math.exp(score - largest));
  const total = weights.reduce((a, b) => a + b, Math.exp(sink - largest));
  return weights.map((weight) => weight / total);
}
