import { fail } from '../../../base/errors.ts';
import type { ChoosePositionsOp, IndexScoresOp } from '../../../ops/index.ts';
import { cacheDefines, cellArgs, maxVector } from './attention.ts';
import { int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';

/** Threads of a block, and positions that it scores: THREADS of `index-scores.hip`. */
const SCORE_THREADS = 128;
/** Maximum heads whose products a thread sums at once, and maximum elements of their queries in shared memory. */
const MAX_HEADS_TOGETHER = 32;
const MAX_QUERY_ELEMENTS = 8192;
/** Maximum blocks of positions whose scores a block keeps in shared memory. */
const MAX_BLOCKS = 8192;
/** Threads of a block that chooses: THREADS of `choose-positions.hip`. */
const CHOICE_THREADS = 256;

export function lowerIndexScores(op: IndexScoresOp, to: Lowering): void {
  const { q, weights, cache, batch, heads, headSize, out } = op;
  const positions = out.width / (weights ? 1 : heads);
  const together = Math.min(heads, MAX_HEADS_TOGETHER, Math.floor(MAX_QUERY_ELEMENTS / headSize));
  if (together === 0) {
    const why = `heads of ${headSize} elements are more than shared memory holds`;
    fail('OP_UNSUPPORTED', { device: to.target.api, op: op.kind, why });
  }
  const vector = [16, 8, 4, 2, 1].find((size) => size <= maxVector(cache) && headSize % size === 0);
  to.launch({
    file: 'index-scores.hip',
    kernel: 'index_scores',
    defines: {
      ...cacheDefines(cache),
      HEADS: heads,
      SIZE: headSize,
      HEADS_TOGETHER: together,
      VECTOR: vector ?? 1,
      BY_HEAD: weights ? 0 : 1,
    },
    grid: [to.capacity(out), Math.ceil(positions / SCORE_THREADS)],
    block: SCORE_THREADS,
    args: [to.count(out), q, weights ?? NULL, ...cellArgs(cache, batch), cache.keys, out, int(positions)],
  });
}

export function lowerChoosePositions(op: ChoosePositionsOp, to: Lowering): void {
  const { scores, groups, count, chosenBlocks, cache, batch, cells, places, limits } = op;
  const { size, local } = chosenBlocks;
  const line = scores.width / groups;
  const { slots, positions, blocks } = batch;
  const blockCount = Math.ceil(line / size);
  if (size > 1 && blockCount > MAX_BLOCKS) {
    const why = `there are ${blockCount} blocks of positions, more than ${MAX_BLOCKS}`;
    fail('OP_UNSUPPORTED', { device: to.target.api, op: op.kind, why });
  }
  to.launch({
    file: 'choose-positions.hip',
    kernel: 'choose_positions',
    defines: { SIZE: size, LOCAL: local, BLOCKS: size === 1 ? 0 : blockCount },
    grid: [to.capacity(scores), groups],
    block: CHOICE_THREADS,
    args: [
      ...[to.count(scores), scores, slots, positions, blocks],
      ...[int(blocks.width), int(cache.blockSize)],
      ...[cells, places, limits],
      ...[int(groups), int(line), int(count)],
    ],
  });
}
