import {
  type AttentionOp,
  SCORE_NAMES,
  scaleAt,
  STATE_BLOCK,
  stateBlockPlanes,
  type StateType,
  visibleRange,
} from '../../../../ops/index.ts';
import {
  ATTENTION_PARAMETER_BYTES,
  headsTogether,
  SCORES_AT,
  type ScoreNumbers,
  writeAttentionParameters,
} from '../../kernel-exports.ts';
import type { CacheAppendOp, Placed, PlacedState, PlacedTensor } from '../../protocol/call-table.ts';
import { ATTENTION_PARAMETERS } from '../../protocol/reserved.ts';
import type { BankInstance } from '../bank-instance.ts';
import type { CallPlace, Chunk, KernelCall } from '../task.ts';
import { rowWords } from './rows.ts';

/** Bytes of an element, not counting its share of a scale. */
export const CELL_BYTES: Readonly<Record<StateType, number>> = { f32: 4, f16: 2, q8_0: 1, i32: 4 };

/** Finds the sequences of rows in a paged cache. */
export class CacheIndex {
  readonly positions: Int32Array;
  readonly #slots: Int32Array;
  readonly #blocks: Int32Array;
  readonly #table: PlacedTensor;
  readonly #blockSize: number;
  readonly #tableRows: number;

  constructor(
    batch: { readonly positions: PlacedTensor; readonly slots: PlacedTensor; readonly blocks: PlacedTensor },
    blockSize: number,
    { bank, capacity }: CallPlace,
  ) {
    const { positions, slots } = rowWords(batch, bank, capacity.rows);
    this.positions = positions;
    this.#slots = slots;
    this.#table = batch.blocks;
    this.#blockSize = blockSize;
    this.#tableRows = capacity[batch.blocks.axis];
    this.#blocks = bank.words(batch.blocks.at, this.#tableRows * batch.blocks.width);
  }

  /** The address of the block numbers of the row's sequence; -1 if its slot or position is invalid. */
  blocksOf(row: number): number {
    const { at, width } = this.#table;
    const slot = this.#slots[row] as number;
    const position = this.positions[row] as number;
    const inside = slot >= 0 && slot < this.#tableRows && position >= 0 && position < this.#blockSize * width;
    return inside ? at + 4 * slot * width : -1;
  }

  /** The cell of the row's own position; -1 if there is none. */
  cellOf(row: number): number {
    return this.cellAt(row, this.positions[row] as number);
  }

  /** The cell of a position of the row's sequence; -1 if there is none. */
  cellAt(row: number, position: number): number {
    const blocks = this.blocksOf(row);
    if (blocks < 0) return -1;
    const place = (blocks - this.#table.at) / 4 + Math.floor(position / this.#blockSize);
    return (this.#blocks[place] as number) * this.#blockSize + (position % this.#blockSize);
  }
}

/** Bytes of the scales of this many elements, in whole blocks. */
const scaleBytes = (elements: number) => elements / (STATE_BLOCK / 2);

/** The offset of a cache's scales, and their stride between cells; zeros if it has none. */
export function scalePlane(of: PlacedState | undefined): { offset: number; stride: number } {
  if (of?.type !== 'q8_0') return { offset: 0, stride: 0 };
  const { rows, width } = of;
  const { scales, scaleBytes } = stateBlockPlanes(rows, width);
  return { offset: scales, stride: scaleBytes };
}

/** Rows without a cell are dropped. */
export function cacheAppendCall(
  of: Placed<CacheAppendOp>,
  bank: BankInstance,
  capacity: number,
  place: CallPlace,
): KernelCall {
  const { type, rows: cells, at } = of.cache;
  const columns = of.x.width;
  const { narrow, quantizeStateBlocks } = bank.kernels;
  const index = new CacheIndex(of.batch, of.blockSize, place);
  const x = bank.floats(of.x.at, capacity * columns);
  const cache = type === 'f32' ? bank.floats(at, cells * columns) : undefined;
  const planes = type === 'q8_0' ? stateBlockPlanes(cells, columns) : undefined;
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const cell = index.cellOf(row);
        if (cell < 0 || cell >= cells) continue;
        const from = row * columns + firstColumn;
        const to = cell * columns + firstColumn;
        const count = endColumn - firstColumn;
        if (cache) cache.set(x.subarray(from, from + count), to);
        else if (planes) {
          const scales = at + planes.scales + scaleBytes(to);
          quantizeStateBlocks(of.x.at + 4 * from, at + to, scales, count / STATE_BLOCK);
        } else narrow(of.x.at + 4 * from, at + 2 * to, count);
      }
    },
  };
}

function scoreNumbers(of: Placed<AttentionOp>): ScoreNumbers {
  const numbers = SCORE_NAMES.map((name) => {
    const value = of[name] ?? 0;
    return [name, typeof value === 'number' ? value : value.at] as const;
  });
  return Object.fromEntries(numbers) as ScoreNumbers;
}

export function attentionCall(
  of: Placed<AttentionOp>,
  bank: BankInstance,
  _capacity: number,
  place: CallPlace,
): KernelCall {
  const { heads, kvHeads, keySize, valueSize, cache } = of;
  const { attention } = bank.kernels;
  const { scratch } = bank;
  const work = scratch + ATTENTION_PARAMETERS;
  const columns = of.out.width;
  const group = headsTogether(of);
  const groupsOfKeyHead = heads / kvHeads / group;
  const unit = group * valueSize;
  const size = CELL_BYTES[cache.keys.type];
  const index = new CacheIndex({ ...of.batch, positions: of.causalLimit }, cache.blockSize, place);
  const own = of.positions && bank.words(of.positions.at, place.capacity.rows);
  const [keyPlane, valuePlane] = [scalePlane(cache.keys), scalePlane(cache.values)];
  const valuesAt = cache.values?.at ?? 0;
  const parameters = new Uint8Array(ATTENTION_PARAMETER_BYTES);
  writeAttentionParameters(new DataView(parameters.buffer), 0, {
    blockSize: cache.blockSize,
    group,
    keySize,
    valueSize,
    keyCellBytes: kvHeads * keySize * size,
    valueCellBytes: cache.values ? kvHeads * valueSize * size : 0,
    keyScaleBytes: keyPlane.stride,
    valueScaleBytes: valuePlane.stride,
    cacheType: cache.keys.type,
    scores: scoreNumbers(of),
  });
  const ownParameters = bank.bytes(scratch, ATTENTION_PARAMETER_BYTES);
  const ownScale = bank.floats(scratch + SCORES_AT, 1);
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      ownParameters.set(parameters);
      for (let row = firstRow; row < endRow; row++) {
        const blocks = index.blocksOf(row);
        if (blocks < 0) continue;
        const { first: begin, last } = visibleRange(of, index.positions[row] as number, own?.[row]);
        const end = last + 1;
        ownScale[0] = scaleAt(of, end - 1);
        for (let column = firstColumn; column < endColumn; column += unit) {
          const index = column / unit;
          const head = Math.floor(index / groupsOfKeyHead);
          const q = of.q.at + 4 * (row * heads + index * group) * keySize;
          const out = of.out.at + 4 * (row * columns + column);
          const keys = cache.keys.at + head * keySize * size;
          const values = valuesAt + head * valueSize * size;
          const keyScales = cache.keys.at + keyPlane.offset + scaleBytes(head * keySize);
          const valueScales = valuesAt + valuePlane.offset + scaleBytes(head * valueSize);
          attention(q, keys, values, out, blocks, scratch, begin, end, work, keyScales, valueScales, index);
        }
      }
    },
  };
}
