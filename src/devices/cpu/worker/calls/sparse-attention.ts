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
  const { width } = of.out;
  const lines = weights ? 1 : heads;
  const columns = width / lines;
  const index = new CacheIndex(batch, cache.blockSize, place);
  const out = bank.floats(of.out.at, capacity * width);
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
        const end = Math.max(firstColumn, Math.min(endColumn, index.positionOf(row) + 1));
        for (let line = row * width; line < (row + 1) * width; line += columns) {
          out.fill(0, line + end, line + endColumn);
        }
        if (end === firstColumn) continue;
        const queries = q.at + 4 * row * heads * headSize;
        const factors = weights ? weights.at + 4 * row * heads : 0;
        const scores = of.out.at + 4 * row * width;
        bank.kernels.indexScores(
          ...([queries, factors, at, at + offset, scores, blocks] as const),
          ...sizes,
          firstColumn,
          end,
          bank.scratch,
          4 * columns,
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
  const { groups } = of;
  const columns = of.scores.width;
  const [line, most] = [columns / groups, of.cells.width / groups];
  const index = new CacheIndex(of.batch, of.cache.blockSize, place);
  const scores = bank.floats(of.scores.at, capacity * columns);
  const cells = bank.words(of.cells.at, capacity * groups * most);
  const places = bank.words(of.places.at, capacity * groups);
  const limits = bank.words(of.limits.at, capacity * groups);
  return {
    columns,
    run({ firstRow, endRow }: Chunk) {
      for (let own = firstRow * groups; own < endRow * groups; own++) {
        const row = Math.floor(own / groups);
        const visible = index.blocksOf(row) < 0 ? 0 : index.positionOf(row) + 1;
        const chosen = chooseRow(scores.subarray(own * line, own * line + visible), of);
        cells.fill(0, own * most, (own + 1) * most);
        cells.set(
          chosen.map((position) => index.cellAt(row, position)),
          own * most,
        );
        places[own] = own;
        limits[own] = Math.max(0, chosen.length - 1);
      }
    },
  };
}
