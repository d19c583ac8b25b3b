import { type ChoosePositionsOp, chooseRow, type IndexScoresOp } from '../../../../ops/index.ts';
import { CELL_CODES } from '../../kernel-exports.ts';
import type { Placed } from '../../protocol/call-table.ts';
import type { BankInstance } from '../bank-instance.ts';
import type { CallPlace, Chunk, KernelCall } from '../task.ts';
import { bytesOf, CacheIndex, scalePlane } from './attention.ts';

/** A chunk's columns are positions; rows without a sequence are skipped. */
export function indexScoresCall(
  of: Placed<IndexScoresOp>,
  bank: BankInstance,
  capacity: number,
  place: CallPlace,
): KernelCall {
  const { q, weights, cache, batch, heads, headSize } = of;
  const columns = of.out.width;
  const index = new CacheIndex(batch, cache.blockSize, place);
  const out = bank.floats(of.out.at, capacity * columns);
  const { at, type } = cache.keys;
  const { offset, stride } = scalePlane(cache.keys);
  const sizes = [
    cache.blockSize,
    heads,
    headSize,
    CELL_CODES[type],
    headSize * bytesOf(type),
    stride,
  ] as const;
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const blocks = index.blocksOf(row);
        if (blocks < 0) continue;
        const end = Math.max(firstColumn, Math.min(endColumn, (index.positions[row] as number) + 1));
        out.fill(0, row * columns + end, row * columns + endColumn);
        if (end === firstColumn) continue;
        const [queries, factors] = [q.at + 4 * row * heads * headSize, weights.at + 4 * row * heads];
        const scores = of.out.at + 4 * row * columns;
        bank.kernels.indexScores(
          ...([queries, factors, at, at + offset, scores, blocks] as const),
          ...sizes,
          firstColumn,
          end,
          bank.scratch,
        );
      }
    },
  };
}

/** Rows without a sequence have the first cell only. */
export function choosePositionsCall(
  of: Placed<ChoosePositionsOp>,
  bank: BankInstance,
  capacity: number,
  place: CallPlace,
): KernelCall {
  const { count } = of;
  const columns = of.scores.width;
  const index = new CacheIndex(of.batch, of.cache.blockSize, place);
  const scores = bank.floats(of.scores.at, capacity * columns);
  const cells = bank.words(of.cells.at, capacity * count);
  const places = bank.words(of.places.at, capacity);
  const limits = bank.words(of.limits.at, capacity);
  return {
    columns,
    run({ firstRow, endRow }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const visible = index.blocksOf(row) < 0 ? 0 : (index.positions[row] as number) + 1;
        const chosen = chooseRow(scores.subarray(row * columns, row * columns + visible), count);
        cells.fill(0, row * count, (row + 1) * count);
        cells.set(
          chosen.map((position) => index.cellAt(row, position)),
          row * count,
        );
        places[row] = row;
        limits[row] = Math.max(0, chosen.length - 1);
      }
    },
  };
}
