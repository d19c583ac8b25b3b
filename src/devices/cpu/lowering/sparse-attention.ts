import { fail } from '../../../base/errors.ts';
import type { ChoosePositionsOp, IndexScoresOp } from '../../../ops/index.ts';
import { KERNEL_SCRATCH_BYTES } from '../protocol/reserved.ts';
import type { Lowering } from './lowering.ts';

/** Elements that the kernel processes at once, and keys that it keeps in scratch. */
const LANES = 4;
const KEYS_TOGETHER = 4;

export function lowerIndexScores(op: IndexScoresOp, to: Lowering): void {
  const { headSize, cache, heads, kind, out, weights } = op;
  const most = KERNEL_SCRATCH_BYTES / (4 * KEYS_TOGETHER) - 1;
  if (headSize % LANES !== 0 || headSize > most || cache.keys.type === 'i32') {
    const why = `its heads are ${headSize} wide, no multiple of ${LANES} of at most ${most} numbers`;
    fail('OP_UNSUPPORTED', { device: 'cpu', op: kind, why });
  }
  // Columns are positions, whether there is a score for each or one for each head.
  to.emit(op, {
    locality: 'wide',
    columns: out.width / (weights ? 1 : heads),
    columnUnit: cache.blockSize,
    columnBytes: 4 * heads * headSize,
  });
}

export function lowerChoosePositions(op: ChoosePositionsOp, to: Lowering): void {
  const { scores, cells, places, limits } = op;
  to.emit(op, {
    locality: 'row',
    columns: scores.width,
    local: [scores],
    writes: [cells, places, limits],
  });
}
