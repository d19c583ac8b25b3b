import type { EmbedOp, GatherRowsOp, TokenAppendOp } from '../../../ops/index.ts';
import { GRID } from '../kernels/library/grid.ts';
import { EMBED, GATHER_ROWS, TOKEN_APPEND } from '../kernels/rows.ts';
import { lineGrid } from './line-grid.ts';
import { read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { matrixOf } from './matrix.ts';

export function lowerEmbed({ ids, table, out }: EmbedOp, to: Lowering): void {
  const { threads } = to.target;
  const matrix = matrixOf([table], to);
  const quads = Math.ceil(out.width / 4);
  for (const chunk of matrix.weight.chunks) {
    to.launch({
      name: 'embed',
      texts: [GRID, EMBED, ...matrix.texts],
      constants: {
        THREADS: threads,
        COUNT: to.countOf(out),
        WIDTH: out.width,
        QUADS: quads,
        TOTAL_ROWS: table.rows,
        FIRST_ROW: chunk.firstRow,
        CHUNK_ROWS: chunk.rowCount,
        ...matrix.constants,
      },
      args: { counts: to.counts, ids: to.index(ids), weight: matrix.argument(chunk), y: write(out) },
      grid: lineGrid(to, Math.ceil((to.capacity(out) * quads) / threads)),
    });
  }
}

export function lowerGatherRows({ x, index, out }: GatherRowsOp, to: Lowering): void {
  const { threads } = to.target;
  to.launch({
    name: 'gather_rows',
    texts: [GRID, GATHER_ROWS],
    constants: { THREADS: threads, COUNT: to.countOf(out), WIDTH: out.width },
    args: {
      counts: to.counts,
      index: to.index(index),
      x: read(x, 'array<u32>'),
      y: write(out, 'array<u32>'),
    },
    grid: lineGrid(to, Math.ceil((to.capacity(out) * out.width) / threads)),
  });
}

export function lowerTokenAppend({ history, tokens, batch, out }: TokenAppendOp, to: Lowering): void {
  const { threads } = to.target;
  to.launch({
    name: 'token_append',
    texts: [TOKEN_APPEND],
    constants: { THREADS: threads, POSITIONS: history.width, TOKENS: tokens.rows },
    args: {
      counts: to.counts,
      ids: to.index(batch.ids),
      slots: to.index(batch.slots),
      positions: to.index(batch.positions),
      tokens: read(tokens, 'array<i32>'),
      history: write(history, 'array<i32>'),
      y: write(out, 'array<i32>'),
    },
    grid: [Math.ceil(to.capacity(batch.ids) / threads)],
  });
}
