import { ATTENTION_PARAMETER_BYTES, writeAttentionParameters } from '../../kernel-exports.ts';
import type { AttentionCall, CacheAppendCall, CacheShape } from '../../protocol/call-table.ts';
import { STATE_BLOCK, stateBlockPlanes } from '../../../../ops/index.ts';
import { ATTENTION_PARAMETERS } from '../../protocol/reserved.ts';
import type { BankInstance } from '../bank-instance.ts';
import type { KernelCall, Chunk } from '../task.ts';

/** Bytes of an element, its share of a scale left out. */
const BYTES = { f32: 4, f16: 2, q8_0: 1 } as const;

/** Where a batch's indices stand, as views. */
class CacheIndex {
  readonly positions: Int32Array;
  readonly #slots: Int32Array;
  readonly #blocks: Int32Array;
  readonly #blocksAt: number;
  readonly #shape: CacheShape;

  constructor(
    at: { positions: number; slots: number; blocks: number },
    bank: BankInstance,
    of: { shape: CacheShape; capacity: number },
  ) {
    this.#shape = of.shape;
    this.positions = bank.words(at.positions, of.capacity);
    this.#slots = bank.words(at.slots, of.capacity);
    this.#blocks = bank.words(at.blocks, of.shape.slotCount * of.shape.blocksPerSlot);
    this.#blocksAt = at.blocks;
  }

  /** Address of the row's sequence's block numbers; -1 where its slot or position is none. */
  blocksOf(row: number): number {
    const { blockSize, blocksPerSlot, slotCount } = this.#shape;
    const slot = this.#slots[row] as number;
    const position = this.positions[row] as number;
    const inside = slot >= 0 && slot < slotCount && position >= 0 && position < blockSize * blocksPerSlot;
    return inside ? this.#blocksAt + 4 * slot * blocksPerSlot : -1;
  }

  /** The cell of the row's own position; -1 where there is none. */
  cellOf(row: number): number {
    const { blockSize, cells } = this.#shape;
    const blocks = this.blocksOf(row);
    if (blocks < 0) return -1;
    const position = this.positions[row] as number;
    const block = this.#blocks[(blocks - this.#blocksAt) / 4 + Math.floor(position / blockSize)] as number;
    const cell = block * blockSize + (position % blockSize);
    return cell < cells ? cell : -1;
  }
}

/** Bytes of the scales of so many elements, whole blocks. */
const scaleBytes = (elements: number) => elements / (STATE_BLOCK / 2);

/** Where a cache's scales begin, and how far apart those of its cells are; zeros where it has none. */
function scalePlane({ type, cells }: CacheShape, width: number): { offset: number; stride: number } {
  if (type !== 'q8_0') return { offset: 0, stride: 0 };
  const { scales, scaleBytes } = stateBlockPlanes(cells, width);
  return { offset: scales, stride: scaleBytes };
}

/** Rows without a cell are dropped. */
export function cacheAppendCall(of: CacheAppendCall, bank: BankInstance, capacity: number): KernelCall {
  const { at, columns, shape } = of;
  const { narrow, quantizeStateBlocks } = bank.kernels;
  const index = new CacheIndex(at, bank, { shape, capacity });
  const x = bank.floats(at.x, capacity * columns);
  const cache = shape.type === 'f32' ? bank.floats(at.cache, shape.cells * columns) : undefined;
  const planes = shape.type === 'q8_0' ? stateBlockPlanes(shape.cells, columns) : undefined;
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const cell = index.cellOf(row);
        if (cell < 0) continue;
        const from = row * columns + firstColumn;
        const to = cell * columns + firstColumn;
        const count = endColumn - firstColumn;
        if (cache) cache.set(x.subarray(from, from + count), to);
        else if (planes) {
          const scales = at.cache + planes.scales + scaleBytes(to);
          quantizeStateBlocks(at.x + 4 * from, at.cache + to, scales, count / STATE_BLOCK);
        } else narrow(at.x + 4 * from, at.cache + 2 * to, count);
      }
    },
  };
}

export function attentionCall(of: AttentionCall, bank: BankInstance, capacity: number): KernelCall {
  const { at, columns, heads, kvHeads, keySize, valueSize, shape } = of;
  const { attention } = bank.kernels;
  const { scratch } = bank;
  const work = scratch + ATTENTION_PARAMETERS;
  const group = heads / kvHeads;
  const unit = group * valueSize;
  const size = BYTES[shape.type];
  const window = of.window ?? Number.POSITIVE_INFINITY;
  const index = new CacheIndex(at, bank, { shape, capacity });
  const keyPlane = scalePlane(shape, kvHeads * keySize);
  const valuePlane = scalePlane(shape, kvHeads * valueSize);
  const parameters = new Uint8Array(ATTENTION_PARAMETER_BYTES);
  writeAttentionParameters(new DataView(parameters.buffer), 0, {
    blockSize: shape.blockSize,
    group,
    keySize,
    valueSize,
    keyCellBytes: kvHeads * keySize * size,
    valueCellBytes: kvHeads * valueSize * size,
    keyScaleBytes: keyPlane.stride,
    valueScaleBytes: valuePlane.stride,
    scale: of.scale,
    softCap: of.softCap ?? 0,
    cacheType: shape.type,
  });
  const ownParameters = bank.bytes(scratch, ATTENTION_PARAMETER_BYTES);
  return {
    columns,
    run({ firstRow, endRow, firstColumn, endColumn }: Chunk) {
      ownParameters.set(parameters);
      for (let row = firstRow; row < endRow; row++) {
        const blocks = index.blocksOf(row);
        if (blocks < 0) continue;
        const end = (index.positions[row] as number) + 1;
        const begin = Math.max(0, end - window);
        for (let column = firstColumn; column < endColumn; column += unit) {
          const head = column / unit;
          const q = at.q + 4 * (row * heads + head * group) * keySize;
          const out = at.out + 4 * (row * columns + column);
          const keys = at.keys + head * keySize * size;
          const values = at.values + head * valueSize * size;
          const keyScales = at.keys + keyPlane.offset + scaleBytes(head * keySize);
          const valueScales = at.values + valuePlane.offset + scaleBytes(head * valueSize);
          attention(q, keys, values, out, blocks, scratch, begin, end, work, keyScales, valueScales);
        }
      }
    },
  };
}
