import { fail } from '../../../base/errors.ts';
import type { ChoosePositionsOp, IndexScoresOp } from '../../../ops/index.ts';
import { FUNCTIONS } from '../kernels/library/functions.ts';
import { PAGED_CACHE, unitTexts } from '../kernels/library/paged-cache.ts';
import {
  ADD_WEIGHTED,
  CHOOSE_POSITIONS,
  INDEX_SCORES,
  LAST_OF_INPUT,
  LAST_OF_RESULT,
  STORE_BY_HEAD,
} from '../kernels/sparse-attention.ts';
import { cacheArguments, cacheForm, cacheUnit, cellArguments } from './attention.ts';
import { read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';

/** Threads of a workgroup, and positions that it scores. */
const SCORE_THREADS = 128;
/** Counters of a histogram: DIGITS of `CHOOSE_POSITIONS`. */
const DIGITS = 256;
/** Maximum heads whose products a thread sums at once. */
const MAX_HEADS_TOGETHER = 16;

/** How a workgroup finds the last position that its row sees. */
function lastPosition({ positions }: IndexScoresOp['batch']): string {
  return positions.role === 'temp' ? LAST_OF_RESULT : LAST_OF_INPUT;
}

export function lowerIndexScores(op: IndexScoresOp, to: Lowering): void {
  const { q, weights, cache, batch, heads, headSize, out } = op;
  const positions = out.width / (weights ? 1 : heads);
  cacheUnit(cache, headSize);
  const together = Math.min(heads, MAX_HEADS_TOGETHER, Math.floor(to.target.workgroupBytes / 4 / headSize));
  if (together === 0) {
    const why = `heads of ${headSize} elements are more than workgroup memory holds`;
    fail('OP_UNSUPPORTED', { device: 'webgpu', op: op.kind, why });
  }
  const cells = cellArguments(cache, batch, to);
  to.launch({
    name: 'index_scores',
    texts: [
      INDEX_SCORES,
      weights ? ADD_WEIGHTED : STORE_BY_HEAD,
      lastPosition(batch),
      FUNCTIONS,
      PAGED_CACHE,
      ...unitTexts(cacheForm(cache)),
    ],
    constants: {
      THREADS: SCORE_THREADS,
      COUNT: to.countOf(out),
      HEADS: heads,
      SIZE: headSize,
      HEADS_TOGETHER: together,
      WIDTH: positions,
      ...cells.constants,
    },
    args: {
      counts: to.counts,
      ...cells.args,
      q: read(q),
      ...(weights && { weights: read(weights) }),
      ...cacheArguments(cache, 'array<u32>'),
      y: write(out),
    },
    grid: [to.capacity(out), Math.ceil(positions / SCORE_THREADS)],
  });
}

export function lowerChoosePositions(op: ChoosePositionsOp, to: Lowering): void {
  const { scores, groups, count, chosenBlocks, cache, batch, cells, places, limits } = op;
  const { size, local } = chosenBlocks;
  const line = scores.width / groups;
  const blocks = size === 1 ? 1 : Math.ceil(line / size);
  const { threads, workgroupBytes } = to.target;
  if (4 * (blocks + DIGITS + 2 * threads + 2) > workgroupBytes) {
    const why = `there are ${blocks} blocks of positions, more than workgroup memory holds`;
    fail('OP_UNSUPPORTED', { device: 'webgpu', op: op.kind, why });
  }
  to.launch({
    name: 'choose_positions',
    texts: [CHOOSE_POSITIONS, PAGED_CACHE, lastPosition(batch)],
    constants: {
      THREADS: threads,
      COUNT: to.countOf(scores),
      WIDTH: line,
      MOST: count,
      SIZE: size,
      LOCAL: local,
      BLOCKS: blocks,
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
    grid: [to.capacity(scores), groups],
  });
}
