import { type Cost, rowwiseCost } from './cost.ts';
import type { PagedCache } from './paged-cache.ts';
import type { Recorder } from './recorder.ts';
import type { BatchTensors, Tensor } from './value.ts';

/**
 * The positions that each row attends to, as a block table of its own with blocks of one position: what attention costs
 * then depends on how many are chosen, not on the length of the sequence.
 */
export interface ChosenPositions {
  /**
   * I32 [rows, groups * most]: for each group of heads, the cells of its positions, in ascending order of the positions;
   * 0 beyond them.
   */
  readonly cells: Tensor;
  /** I32 [rows, groups]: the places of the row's groups in the table, `groups * row + group`. */
  readonly places: Tensor;
  /** I32 [rows, groups]: the number of each group's positions, minus one. */
  readonly limits: Tensor;
}

/** Whole blocks of neighbouring positions, chosen by the largest score of each (MiniMax 2026, "MiniMax M3"). */
export interface ChosenBlocks {
  /** Positions of a block. */
  readonly size: number;
  /** The row's own block and those before it that are always chosen, as many in all; they count among the chosen. */
  readonly local: number;
}

/** Whole blocks of one position: what is chosen by default. */
export const SINGLE_POSITIONS: ChosenBlocks = { size: 1, local: 0 };

/**
 * Chooses, of the positions up to the row's own, the `count` with the largest scores, or all if there are no more
 * (DeepSeek-AI 2025, "DeepSeek-V3.2", top-k of its sparse attention), or blocks of positions; for each group of heads by
 * scores of its own. Of equal scores the lower position comes first; NaN is negative
 * infinity.
 */
export interface ChoosePositionsOp extends ChosenPositions {
  readonly kind: 'choosePositions';
  /** f32 [rows, groups * positions of a sequence]. */
  readonly scores: Tensor;
  readonly groups: number;
  /** Of blocks. */
  readonly count: number;
  readonly chosenBlocks: ChosenBlocks;
  readonly cache: Pick<PagedCache, 'blocks' | 'blockSize'>;
  readonly batch: Pick<BatchTensors, 'slots' | 'positions' | 'blocks'>;
}

/** Chooses positions of the cache, or blocks of them, by their scores: at most `count` for each row and group. */
export function choosePositions(
  g: Recorder<ChoosePositionsOp>,
  scores: Tensor,
  of: Pick<ChoosePositionsOp, 'count' | 'cache'> &
    Partial<Pick<ChoosePositionsOp, 'groups' | 'chosenBlocks'>> & {
      /** I32 [rows, 1]: the last position that a row may attend to, -1 for none. Default: its own. */
      readonly last?: Tensor;
    },
): ChosenPositions {
  const { count, cache, groups = 1, chosenBlocks = SINGLE_POSITIONS } = of;
  const { size, local } = chosenBlocks;
  const { blocks, blockSize } = cache;
  g.require(scores.axis === 'rows' && scores.type === 'f32', 'positions are chosen for token rows');
  const { blocksPerSlot } = g.shape;
  const isTable = blocks.axis === 'slots' && blocks.width === blocksPerSlot;
  g.require(
    isTable && scores.width === groups * blocksPerSlot * blockSize,
    `there are scores for each position of ${blocksPerSlot} blocks, and each of ${groups} groups`,
  );
  const isWhole = [count, size, local, groups].every((number) => Number.isSafeInteger(number) && number >= 0);
  g.require(isWhole && count > 0 && size > 0, 'at least one block of positions is chosen');
  g.require(local <= count, `${local} blocks that are always chosen are among ${count}`);
  const ofRows = (name: string, width: number): Tensor => g.temp(name, { axis: 'rows', width, type: 'i32' });
  const most = Math.min(count, Math.ceil(scores.width / groups / size));
  const chosen = {
    cells: ofRows('cells', groups * most * size),
    places: ofRows('places', groups),
    limits: ofRows('limits', groups),
  };
  const batch = { slots: g.batch.slots, positions: of.last ?? g.batch.positions, blocks };
  const rule = { count: most, groups, chosenBlocks };
  g.push({ kind: 'choosePositions', scores, ...rule, cache: { blocks, blockSize }, batch, ...chosen });
  return chosen;
}

/**
 * The positions that are chosen by the scores of the visible ones, in ascending order: the definition of the choice. A block
 * that is always chosen has the highest score, and others the largest of their positions' scores.
 */
export function chooseRow(
  scores: ArrayLike<number>,
  { count, chosenBlocks: { size, local } }: Pick<ChoosePositionsOp, 'count' | 'chosenBlocks'>,
): number[] {
  const blocks = Math.ceil(scores.length / size);
  const ranked = new Float64Array(blocks).fill(Number.NEGATIVE_INFINITY);
  for (let position = 0; position < scores.length; position++) {
    const block = Math.floor(position / size);
    // A comparison with NaN is false.
    if ((scores[position] as number) > (ranked[block] as number)) ranked[block] = scores[position] as number;
  }
  ranked.fill(Number.POSITIVE_INFINITY, Math.max(0, blocks - local));
  return largestOf(ranked, count).flatMap((block) => {
    const length = Math.min(size, scores.length - block * size);
    return Array.from({ length }, (_, at) => block * size + at);
  });
}

/** The indices of the `count` largest, in ascending order. */
function largestOf(ranked: Float64Array, count: number): number[] {
  const all = Array.from(ranked, (_, index) => index);
  if (all.length <= count) return all;
  const least = ranked.slice().sort()[ranked.length - count] as number;
  let equal = count;
  for (const score of ranked) if (score > least) equal--;
  return all.filter((index) => {
    const score = ranked[index] as number;
    return score > least || (score === least && equal-- > 0);
  });
}

/** Reads the scores once. */
export function choosePositionsCost({ scores, cells }: ChoosePositionsOp, rows: number): Cost {
  return rowwiseCost(rows, scores.width + cells.width + 2, 2 * scores.width);
}
