import {
  type CellPlacesOp,
  cellsPerBlock,
  type CompressCellsOp,
  type JoinCellsOp,
  placesOf,
  sharesOfRow,
  type StreamSharesOp,
} from '../../../../ops/index.ts';
import type { Placed } from '../../protocol/call-table.ts';
import type { BankInstance } from '../bank-instance.ts';
import type { CallPlace, Chunk, KernelCall } from '../task.ts';
import { CacheIndex } from './attention.ts';

const PLACES = ['own', 'cell', 'index', 'last', 'start'] as const;

export function cellPlacesCall(of: Placed<CellPlacesOp>, bank: BankInstance, capacity: number): KernelCall {
  const positions = bank.words(of.batch.positions.at, capacity);
  const results = PLACES.map((name) => [name, bank.words(of[name].at, capacity)] as const);
  return {
    columns: 1,
    run({ firstRow, endRow }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const places = placesOf(of, positions[row] as number);
        for (const [name, words] of results) words[row] = places[name];
      }
    },
  };
}

/** Rows without a sequence are zeros. */
export function compressCellsCall(
  of: Placed<CompressCellsOp>,
  bank: BankInstance,
  capacity: number,
  place: CallPlace,
): KernelCall {
  const { cache, ratio, overlaps, bias } = of;
  const columns = of.out.width;
  const kept = cache.keys.width;
  const values = bank.floats(cache.keys.at, cache.keys.rows * kept);
  const scores = bank.floats(cache.values?.at ?? cache.keys.at, cache.keys.rows * kept);
  const added = bank.floats(bias.at, ratio * kept);
  const out = bank.floats(of.out.at, capacity * columns);
  const index = new CacheIndex(of.batch, cache.blockSize, place);
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const last = index.positionOf(row);
        out.fill(0, row * columns + firstColumn, row * columns + endColumn);
        if (index.blocksOf(row) < 0 || (last + 1) % ratio !== 0) continue;
        const first = Math.max(0, last + 1 - (overlaps ? 2 : 1) * ratio);
        const seen = Array.from({ length: last + 1 - first }, (_, i) => {
          const position = first + i;
          const half = overlaps && position > last - ratio ? columns : 0;
          return { at: index.cellAt(row, position) * kept + half, bias: (position % ratio) * kept + half };
        });
        for (let i = firstColumn; i < endColumn; i++) {
          const score = (of: { readonly at: number; readonly bias: number }) =>
            (scores[of.at + i] as number) + (added[of.bias + i] as number);
          let largest = Number.NEGATIVE_INFINITY;
          for (const position of seen) largest = Math.max(largest, score(position));
          let sum = 0;
          let mean = 0;
          for (const position of seen) {
            const weight = Math.exp(score(position) - largest);
            sum += weight;
            mean += weight * (values[position.at + i] as number);
          }
          out[row * columns + i] = mean / sum;
        }
      }
    },
  };
}

/** Rows without a sequence have the first cell only. */
export function joinCellsCall(
  of: Placed<JoinCellsOp>,
  bank: BankInstance,
  capacity: number,
  place: CallPlace,
): KernelCall {
  const { ratio, positions, window, most } = of;
  const columns = of.cells.width;
  const inBlock = cellsPerBlock(of);
  const all = positions + inBlock;
  const index = new CacheIndex(of.batch, positions, place);
  const chosen = of.chosen && bank.words(of.chosen.at, capacity * most);
  const cells = bank.words(of.cells.at, capacity * columns);
  const places = bank.words(of.places.at, capacity);
  const limits = bank.words(of.limits.at, capacity);
  const spread = (cell: number, size: number, from: number) =>
    Math.floor(cell / size) * all + from + (cell % size);
  return {
    columns,
    run({ firstRow, endRow }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const seen = index.blocksOf(row) < 0 ? 0 : index.positionOf(row) + 1;
        const [near, far] = [Math.min(window, seen), Math.min(most, Math.floor(seen / ratio))];
        const own = cells.subarray(row * columns, (row + 1) * columns).fill(0);
        for (let i = 0; i < near; i++) own[i] = spread(index.cellAt(row, seen - near + i), positions, 0);
        for (let i = 0; i < far; i++) {
          const last = index.cellAt(row, (i + 1) * ratio - 1);
          const first = Math.floor(last / positions) * inBlock + Math.floor((last % positions) / ratio);
          own[near + i] = spread(chosen?.[row * most + i] ?? first, inBlock, positions);
        }
        places[row] = row;
        limits[row] = Math.max(0, near + far - 1);
      }
    },
  };
}

export function streamSharesCall(
  of: Placed<StreamSharesOp>,
  bank: BankInstance,
  capacity: number,
): KernelCall {
  const columns = of.out.width;
  const mixes = bank.floats(of.mixes.at, capacity * columns);
  const by = { scale: bank.floats(of.scale.at, of.scale.columns), base: bank.floats(of.base.at, columns) };
  const out = bank.floats(of.out.at, capacity * columns);
  return {
    columns,
    run({ firstRow, endRow }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const own = mixes.subarray(row * columns, (row + 1) * columns);
        out.set(sharesOfRow(own, by, of), row * columns);
      }
    },
  };
}
