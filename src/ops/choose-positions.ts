import { type Cost, rowwiseCost } from './cost.ts';
import type { PagedCache } from './paged-cache.ts';
import type { Recorder } from './recorder.ts';
import type { BatchTensors, Tensor } from './value.ts';

/**
 * The positions that each row attends to, as a block table of its own with blocks of one position: what attention costs
 * then depends on how many are chosen, not on the length of the sequence.
 */
export interface ChosenPositions {
  /** I32 [rows, count]: the cells of the row's positions, in ascending order of the positions; 0 beyond them. */
  readonly cells: Tensor;
  /** I32 [rows, 1]: the row's own number, its place in the table. */
  readonly places: Tensor;
  /** I32 [rows, 1]: the number of its positions, minus one. */
  readonly limits: Tensor;
}

/**
 * Chooses, of the positions up to the row's own, the `count` with the largest scores, or all if there are no more
 * (DeepSeek-AI 2025, "DeepSeek-V3.2", top-k of its sparse attention). Of equal scores the lower position comes first; NaN is
 * less than any number.
 */
export interface ChoosePositionsOp extends ChosenPositions {
  readonly kind: 'choosePositions';
  /** f32 [rows, positions of a sequence]. */
  readonly scores: Tensor;
  readonly count: number;
  readonly cache: Pick<PagedCache, 'blocks' | 'blockSize'>;
  readonly batch: Pick<BatchTensors, 'slots' | 'positions' | 'blocks'>;
}

/** Chooses positions of the cache by their scores, at most `count` for each row. */
export function choosePositions(
  g: Recorder<ChoosePositionsOp>,
  scores: Tensor,
  { count, cache }: { readonly count: number; readonly cache: Pick<PagedCache, 'blocks' | 'blockSize'> },
): ChosenPositions {
  const { blocks, blockSize } = cache;
  g.require(scores.axis === 'rows' && scores.type === 'f32', 'positions are chosen for token rows');
  const { blocksPerSlot } = g.shape;
  const isTable = blocks.axis === 'slots' && blocks.width === blocksPerSlot;
  g.require(
    isTable && scores.width === blocksPerSlot * blockSize,
    `there are scores for each position of ${blocksPerSlot} blocks`,
  );
  g.require(Number.isSafeInteger(count) && count > 0, 'at least one position is chosen');
  const ofRows = (name: string, width: number): Tensor => g.temp(name, { axis: 'rows', width, type: 'i32' });
  const chosen = {
    cells: ofRows('cells', Math.min(count, scores.width)),
    places: ofRows('places', 1),
    limits: ofRows('limits', 1),
  };
  const { slots, positions } = g.batch;
  const batch = { slots, positions, blocks };
  const of = { count: chosen.cells.width, cache: { blocks, blockSize }, batch };
  g.push({ kind: 'choosePositions', scores, ...of, ...chosen });
  return chosen;
}

/** The `count` positions with the largest of the scores, or all, in ascending order: the definition of the choice. */
export function chooseRow(scores: ArrayLike<number>, count: number): number[] {
  const all = Array.from(scores, (_, position) => position);
  if (all.length <= count) return all;
  const ranked = Float64Array.from(all, (position) => {
    const score = scores[position] as number;
    return Number.isNaN(score) ? Number.NEGATIVE_INFINITY : score;
  });
  const least = ranked.slice().sort()[ranked.length - count] as number;
  let equal = count;
  for (const score of ranked) if (score > least) equal--;
  return all.filter((position) => {
    const score = ranked[position] as number;
    return score > least || (score === least && equal-- > 0);
  });
}

/** Reads the scores once. */
export function choosePositionsCost({ scores, cells }: ChoosePositionsOp, rows: number): Cost {
  return rowwiseCost(rows, scores.width + cells.width + 2, 2 * scores.width);
}
