import { fail } from '../../../base/errors.ts';
import type { ChoosePositionsOp, IndexScoresOp } from '../../../ops/index.ts';
import { FUNCTIONS } from '../kernels/library/functions.ts';
import { PAGED_CACHE, unitTexts } from '../kernels/library/paged-cache.ts';
import { CHOOSE_POSITIONS, INDEX_SCORES } from '../kernels/sparse-attention.ts';
import { cacheArguments, cacheForm, cacheUnit, cellArguments } from './attention.ts';
import { read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';

/** Threads of a workgroup, and positions that it scores. */
const SCORE_THREADS = 128;
/** Maximum heads whose products a thread sums at once. */
const MAX_HEADS_TOGETHER = 16;

export function lowerIndexScores(op: IndexScoresOp, to: Lowering): void {
  const { q, weights, cache, batch, heads, headSize, out } = op;
  cacheUnit(cache, headSize);
  const together = Math.min(heads, MAX_HEADS_TOGETHER, Math.floor(to.target.workgroupBytes / 4 / headSize));
  if (together === 0) {
    const why = `heads of ${headSize} elements are more than workgroup memory holds`;
    fail('OP_UNSUPPORTED', { device: 'webgpu', op: op.kind, why });
  }
  const cells = cellArguments(cache, batch, to);
  to.launch({
    name: 'index_scores',
    texts: [INDEX_SCORES, FUNCTIONS, PAGED_CACHE, ...unitTexts(cacheForm(cache))],
    constants: {
      THREADS: SCORE_THREADS,
      COUNT: to.countOf(out),
      HEADS: heads,
      SIZE: headSize,
      HEADS_TOGETHER: together,
      WIDTH: out.width,
      ...cells.constants,
    },
    args: {
      counts: to.counts,
      ...cells.args,
      q: read(q),
      weights: read(weights),
      ...cacheArguments(cache, 'array<u32>'),
      y: write(out),
    },
    grid: [to.capacity(out), Math.ceil(out.width / SCORE_THREADS)],
  });
}

export function lowerChoosePositions(op: ChoosePositionsOp, to: Lowering): void {
  const { scores, count, cache, batch, cells, places, limits } = op;
  to.launch({
    name: 'choose_positions',
    texts: [CHOOSE_POSITIONS, PAGED_CACHE],
    constants: {
      THREADS: to.target.threads,
      COUNT: to.countOf(scores),
      WIDTH: scores.width,
      MOST: count,
      BLOCKS_PER_SLOT: batch.blocks.width,
      BLOCK_SIZE: cache.blockSize,
    },
    args: {
      counts: to.counts,
      slots: to.index(batch.slots),
      positions: to.index(batch.positions),
      blocks: read(batch.blocks, 'array<i32>'),
      scores: read(scores),
      cells: write(cells, 'array<i32>'),
      places: write(places, 'array<i32>'),
      limits: write(limits, 'array<i32>'),
    },
    grid: [to.capacity(scores)],
  });
}
