import {
  type AttentionOp,
  ELEMENT_BYTES,
  isBlockType,
  SCORE_NAMES,
  scaleAt,
  STATE_BLOCK,
  STATE_BLOCKS,
  stateBlockPlanes,
  type StateType,
  visibleRange,
} from '../../../../ops/index.ts';
import {
  ATTENTION_PARAMETER_BYTES,
  headsTogether,
  type KernelExports,
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
export function bytesOf(type: StateType): number {
  return isBlockType(type) ? STATE_BLOCKS[type].quantBytes / STATE_BLOCK : ELEMENT_BYTES[type];
}

/** Finds the sequences of rows in a paged cache; a row has as many places in the block table as `slots` is wide. */
export class CacheIndex {
  readonly #positions: Int32Array;
  readonly #slots: Int32Array;
  readonly #blocks: Int32Array;
  readonly #table: PlacedTensor;
  readonly #blockSize: number;
  readonly #tableRows: number;
  readonly #perRow: number;
  readonly #width: number;

  constructor(
    batch: { readonly positions: PlacedTensor; readonly slots: PlacedTensor; readonly blocks: PlacedTensor },
    blockSize: number,
    { bank, capacity }: CallPlace,
  ) {
    this.#perRow = batch.slots.width;
    this.#width = batch.blocks.width / this.#perRow;
    const { positions, slots } = rowWords(batch, bank, capacity.rows * this.#perRow);
    this.#positions = positions;
    this.#slots = slots;
    this.#table = batch.blocks;
    this.#blockSize = blockSize;
    this.#tableRows = capacity[batch.blocks.axis] * this.#perRow;
    this.#blocks = bank.words(batch.blocks.at, this.#tableRows * this.#width);
  }

  /** The address of the block numbers of the row's sequence; -1 if its slot or position is invalid. */
  blocksOf(row: number, place = 0): number {
    const { at } = this.#table;
    const width = this.#width;
    const slot = this.#slots[row * this.#perRow + place] as number;
    const position = this.positionOf(row, place);
    const inside = slot >= 0 && slot < this.#tableRows && position >= 0 && position < this.#blockSize * width;
    return inside ? at + 4 * slot * width : -1;
  }

  /** The row's last position in its sequence. */
  positionOf(row: number, place = 0): number {
    return this.#positions[row * this.#perRow + place] as number;
  }

  /** The cell of the row's own position; -1 if there is none. */
  cellOf(row: number): number {
    return this.cellAt(row, this.positionOf(row));
  }

  /** The cell of a position of the row's sequence; -1 if there is none. */
  cellAt(row: number, position: number): number {
    const blocks = this.blocksOf(row);
    if (blocks < 0) return -1;
    const place = (blocks - this.#table.at) / 4 + Math.floor(position / this.#blockSize);
    return (this.#blocks[place] as number) * this.#blockSize + (position % this.#blockSize);
  }
}

/** The offset of a cache's scales, their stride between cells, and bytes an element; zeros if it has none. */
export function scalePlane(of: PlacedState | undefined): { offset: number; stride: number; bytes: number } {
  if (!of || !isBlockType(of.type)) return { offset: 0, stride: 0, bytes: 0 };
  const { scales, scaleBytes } = stateBlockPlanes(of.type, of.rows, of.width);
  return { offset: scales, stride: scaleBytes, bytes: STATE_BLOCKS[of.type].scaleBytes / STATE_BLOCK };
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
  const { narrow, quantizeStateBlocks, quantizeNibbleBlocks, quantizeFiveBitBlocks } = bank.kernels;
  const quantizers = {
    q8_0: quantizeStateBlocks,
    q4_0: quantizeNibbleBlocks,
    q5_1: quantizeFiveBitBlocks,
  } as const;
  const index = new CacheIndex(of.batch, of.blockSize, place);
  const x = bank.floats(of.x.at, capacity * columns);
  const cache = type === 'f32' ? bank.floats(at, cells * columns) : undefined;
  const quantize = isBlockType(type) ? quantizers[type] : undefined;
  const plane = scalePlane(of.cache);
  const bytes = bytesOf(type);
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
        else if (quantize) {
          const scales = at + plane.offset + plane.bytes * to;
          quantize(of.x.at + 4 * from, at + bytes * to, scales, count / STATE_BLOCK);
        } else narrow(of.x.at + 4 * from, at + bytes * to, count);
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

/** The parameters of the kernel for heads that are computed together. */
function parametersOf(of: Placed<AttentionOp>, group: number): Uint8Array {
  const { kvHeads, keySize, valueSize, cache } = of;
  const valueType = (cache.values ?? cache.keys).type;
  const parameters = new Uint8Array(ATTENTION_PARAMETER_BYTES);
  writeAttentionParameters(new DataView(parameters.buffer), 0, {
    blockSize: cache.blockSize,
    group,
    keySize,
    valueSize,
    keyCellBytes: kvHeads * keySize * bytesOf(cache.keys.type),
    valueCellBytes: cache.values ? kvHeads * valueSize * bytesOf(valueType) : 0,
    keyScaleBytes: scalePlane(cache.keys).stride,
    valueScaleBytes: scalePlane(cache.values).stride,
    keyType: cache.keys.type,
    valueType,
    scores: scoreNumbers(of),
  });
  return parameters;
}

/** Where a key head's elements and their scales begin in a cache: `at + step * head`; zeros without one. */
function headPlanes(of: PlacedState | undefined, size: number) {
  const { offset, bytes } = scalePlane(of);
  const at = of?.at ?? 0;
  return { at, step: of ? size * bytesOf(of.type) : 0, scales: at + offset, scaleStep: bytes * size };
}

export function attentionCall(
  of: Placed<AttentionOp>,
  bank: BankInstance,
  _capacity: number,
  place: CallPlace,
): KernelCall {
  const { heads, kvHeads, keySize, valueSize, cache } = of;
  const attend = bank.kernel<KernelExports['attention']>('attention');
  const { scratch } = bank;
  const work = scratch + ATTENTION_PARAMETERS;
  const columns = of.out.width;
  const group = headsTogether(of);
  const groupsOfKeyHead = heads / kvHeads / group;
  const unit = group * valueSize;
  const index = new CacheIndex({ ...of.batch, positions: of.causalLimit }, cache.blockSize, place);
  const own = of.positions && bank.words(of.positions.at, place.capacity.rows);
  const ofKeys = headPlanes(cache.keys, keySize);
  const ofValues = headPlanes(cache.values, valueSize);
  const places = of.batch.slots.width;
  const parameters = parametersOf(of, group);
  const ownParameters = bank.bytes(scratch, ATTENTION_PARAMETER_BYTES);
  const ownScale = bank.floats(scratch + SCORES_AT, 1);
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      ownParameters.set(parameters);
      for (let row = firstRow; row < endRow; row++) {
        for (let column = firstColumn; column < endColumn; column += unit) {
          const part = column / unit;
          const head = Math.floor(part / groupsOfKeyHead);
          const place = Math.floor((head * places) / kvHeads);
          const blocks = index.blocksOf(row, place);
          if (blocks < 0) continue;
          const { first: begin, last } = visibleRange(of, index.positionOf(row, place), own?.[row]);
          const [end, from] = [last + 1, own?.[row] ?? last];
          ownScale[0] = scaleAt(of, last);
          const q = of.q.at + 4 * (row * heads + part * group) * keySize;
          const out = of.out.at + 4 * (row * columns + column);
          const keys = ofKeys.at + ofKeys.step * head;
          const values = ofValues.at + ofValues.step * head;
          const keyScales = ofKeys.scales + ofKeys.scaleStep * head;
          const valueScales = ofValues.scales + ofValues.scaleStep * head;
          attend(q, keys, values, out, blocks, scratch, begin, end, work, keyScales, valueScales, part, from);
        }
      }
    },
  };
}
