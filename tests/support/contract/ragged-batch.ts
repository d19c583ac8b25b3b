import type { BatchShape } from '../../../src/ops/index.ts';
import { seededRandom } from '../random.ts';

/** Consecutive tokens of one sequence. */
export interface Slice {
  readonly slot: number;
  /** The position of the first one. */
  readonly from: number;
  readonly count: number;
  /** Which tokens need logits: by default the last one. */
  readonly outputs?: 'last' | 'all' | 'none';
}

/** The layout of a batch. */
export interface RaggedOptions {
  readonly slices: readonly Slice[];
  /** Interleaves the rows of the sequences instead of grouping them. */
  readonly interleaved?: boolean;
  /** Unused rows and outputs in the capacity: by default 2 and 1. */
  readonly spare?: { readonly rows: number; readonly outputs: number };
  readonly blockSize?: number;
  readonly vocabulary?: number;
}

/** The contents of a batch's index tensors, and the shape for them. */
export interface RaggedBatch {
  readonly shape: BatchShape;
  readonly rows: number;
  readonly outputs: number;
  readonly ids: readonly number[];
  readonly positions: readonly number[];
  readonly slots: readonly number[];
  readonly outputRows: readonly number[];
  /** [slots][blocksPerSlot], -1 for a missing block. */
  readonly blocks: readonly (readonly number[])[];
  readonly blockSize: number;
  /** The cells of the paged cache; some of its blocks belong to no sequence. */
  readonly cells: number;
}

interface Row {
  readonly slot: number;
  readonly position: number;
  readonly wanted: boolean;
}

function rowsOf({ slot, from, count, outputs = 'last' }: Slice): Row[] {
  return Array.from({ length: count }, (_, i) => ({
    slot,
    position: from + i,
    wanted: outputs === 'all' || (outputs === 'last' && i === count - 1),
  }));
}

function interleave(parts: readonly Row[][]): Row[] {
  const longest = Math.max(...parts.map((part) => part.length));
  return Array.from({ length: longest }, (_, i) => parts.flatMap((part) => part.slice(i, i + 1))).flat();
}

/** The numbers below `count` in random order. */
export function shuffled(count: number, random: () => number): number[] {
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const other = Math.floor(random() * (i + 1));
    [order[i], order[other]] = [order[other] as number, order[i] as number];
  }
  return order;
}

/** A batch of several sequences, with their cache blocks scattered over the cache. */
export function raggedBatch(of: RaggedOptions): RaggedBatch {
  const { slices, spare = { rows: 2, outputs: 1 }, blockSize = 4, vocabulary = 50 } = of;
  const parts = slices.map(rowsOf);
  const rows = of.interleaved ? interleave(parts) : parts.flat();
  const outputRows = rows.flatMap((row, index) => (row.wanted ? [index] : []));
  const slots = Math.max(...slices.map((slice) => slice.slot)) + 2;
  const random = seededRandom(rows.length * 31 + blockSize);
  const wanted = Array.from({ length: slots }, (_, slot) => {
    const ends = slices.filter((slice) => slice.slot === slot).map((slice) => slice.from + slice.count);
    return Math.ceil(Math.max(0, ...ends) / blockSize);
  });
  const total = wanted.reduce((sum, count) => sum + count, 0) + 2;
  const free = shuffled(total, random);
  const blocksPerSlot = Math.max(...wanted) + 1;
  return {
    shape: {
      rows: rows.length + spare.rows,
      outputs: Math.max(1, outputRows.length + spare.outputs),
      slots,
      blocksPerSlot,
    },
    rows: rows.length,
    outputs: outputRows.length,
    ids: rows.map(() => Math.floor(random() * vocabulary)),
    positions: rows.map((row) => row.position),
    slots: rows.map((row) => row.slot),
    outputRows,
    blocks: wanted.map((count) => {
      const mine = free.splice(0, count);
      return Array.from({ length: blocksPerSlot }, (_, i) => mine[i] ?? -1);
    }),
    blockSize,
    cells: total * blockSize,
  };
}

/** The first `count` tokens of one sequence, with logits for all: for operators that read no other row. */
export function plainBatch(count: number): RaggedBatch {
  return raggedBatch({ slices: [{ slot: 0, from: 0, count, outputs: 'all' }] });
}

/** The same with room for no other rows, for which kernels of few rows are chosen. */
export function fullBatch(count: number): RaggedBatch {
  const spare = { rows: 0, outputs: 0 };
  return raggedBatch({ slices: [{ slot: 0, from: 0, count, outputs: 'all' }], spare });
}

/** Prompt slices and single tokens of four sequences, interleaved. */
export function mixedBatch(options: Omit<RaggedOptions, 'slices'> = {}): RaggedBatch {
  return raggedBatch({
    slices: [
      { slot: 2, from: 37, count: 1 },
      { slot: 0, from: 0, count: 9 },
      { slot: 3, from: 11, count: 6, outputs: 'none' },
      { slot: 1, from: 4, count: 1 },
    ],
    interleaved: true,
    ...options,
  });
}
