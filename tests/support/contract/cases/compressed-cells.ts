import { F16, F32 } from '../../../../src/formats/index.ts';
import {
  appendAt,
  attention,
  cellPlaces,
  cellsPerBlock,
  compressCells,
  type GraphBuilder,
  joinCells,
  type PagedCache,
  type StateType,
  streamShares,
} from '../../../../src/ops/index.ts';
import type { OpCase } from '../op-case.ts';
import { mixedBatch, raggedBatch } from '../ragged-batch.ts';
import { fillCache, pagedCache } from './attention.ts';

/** A sequence far into its context, around the end of a cell of 128, together with one that has just begun. */
const long = raggedBatch({
  slices: [
    { slot: 1, from: 509, count: 5 },
    { slot: 0, from: 0, count: 9 },
  ],
  interleaved: true,
  blockSize: 32,
});

/** A prompt of more cells than one. */
const prompt = raggedBatch({ slices: [{ slot: 2, from: 90, count: 45 }], blockSize: 16 });

const BATCHES = [
  ['mixed', mixedBatch()],
  ['long', long],
  ['prompt', prompt],
] as const;

type NamedBatch = (typeof BATCHES)[number];

function placesCase([name, batch]: NamedBatch, ratio: number): OpCase {
  return {
    op: 'cellPlaces',
    name: `cells of ${ratio}, ${name}`,
    batch,
    record: (g) => ({ ...cellPlaces(g, { ratio, positions: batch.blockSize }) }),
  };
}

function compressCase(
  [name, batch]: NamedBatch,
  of: { ratio: number; overlaps: boolean; width: number },
): OpCase {
  const { ratio, overlaps, width } = of;
  const kept = overlaps ? 2 * width : width;
  return {
    op: 'compressCells',
    name: `${overlaps ? 'overlapping ' : ''}cells of ${ratio}, ${width} wide, ${name}`,
    batch,
    record: (g) => {
      const cache = pagedCache(g, batch, { type: 'f32', keys: kept, values: kept });
      const bias = g.weight('bias', width % 8 ? F16 : F32, ratio, kept);
      return { y: compressCells(g, { cache, bias, overlaps, ratio }) };
    },
    fill: { keys: fillCache(batch, kept), values: fillCache(batch, kept) },
  };
}

function chosenCells(g: GraphBuilder, count: number) {
  return g.input('chosen', { axis: 'rows', width: count, type: 'i32' });
}

function joinCase([name, batch]: NamedBatch, of: { ratio: number; window: number; chosen?: number }): OpCase {
  const { ratio, window, chosen } = of;
  const cells = (batch.cells / batch.blockSize) * cellsPerBlock({ ratio, positions: batch.blockSize });
  return {
    op: 'joinCells',
    name: `a window of ${window} and ${chosen ?? 'all'} cells of ${ratio}, ${name}`,
    batch,
    record: (g) => {
      const own = chosen === undefined ? {} : { chosen: chosenCells(g, chosen) };
      return {
        ...joinCells(g, { ratio, positions: batch.blockSize, window, blocks: g.batch.blocks, ...own }),
      };
    },
    fill: {
      chosen: (elements, random) => {
        for (let i = 0; i < elements.length; i++) elements[i] = Math.floor(random() * cells);
      },
    },
  };
}

/** Attention to a window and to all cells, after the rows' keys and cells were appended. */
function attendCase([name, batch]: NamedBatch, type: StateType, ratio: number): OpCase {
  const [heads, size] = [4, 64];
  return {
    op: 'attention',
    name: `${heads} heads of ${size}, ${type}, a window of 6 and cells of ${ratio}, ${name}`,
    batch,
    record: (g) => {
      const blocks = { ratio, positions: batch.blockSize };
      const blockSize = batch.blockSize + cellsPerBlock(blocks);
      const rows = (batch.cells / batch.blockSize) * blockSize;
      const keys = g.state('keys', type, rows, size);
      const cache: PagedCache = { keys, values: undefined, blocks: g.batch.blocks, blockSize };
      const places = cellPlaces(g, blocks);
      const row = (of: string, width: number) => g.input(of, { axis: 'rows', width });
      appendAt(g, cache, { k: row('k', size), places: places.own });
      appendAt(g, cache, { k: row('cell', size), places: places.cell });
      const chosen = joinCells(g, { ...blocks, window: 6, blocks: g.batch.blocks });
      const of = { heads, kvHeads: 1, keySize: size, valueSize: size, scale: 1 / 8, chosen };
      return {
        y: attention(g, row('q', heads * size), cache, { ...of, sinks: g.weight('sinks', F32, 1, heads) }),
      };
    },
  };
}

function sharesCase(of: { streams: number; iterations: number; head?: true }): OpCase {
  const { streams, iterations, head } = of;
  const width = head ? streams : streams * (streams + 2);
  return {
    op: 'streamShares',
    name: `${streams} streams, ${head ? 'head' : `${iterations} iterations`}`,
    batch: mixedBatch(),
    record: (g) => {
      const mixes = g.input('mixes', { axis: 'rows', width });
      const scale = g.weight('scale', F32, 1, head ? 1 : 3);
      const base = g.weight('base', F32, 1, width);
      return { y: streamShares(g, mixes, { scale, base, streams, iterations, epsilon: 1e-6 }) };
    },
  };
}

export const COMPRESSED_CELLS_CASES: readonly OpCase[] = [
  ...BATCHES.flatMap((batch) => [
    placesCase(batch, 4),
    placesCase(batch, 128),
    compressCase(batch, { ratio: 4, overlaps: true, width: 20 }),
    compressCase(batch, { ratio: 128, overlaps: false, width: 160 }),
    joinCase(batch, { ratio: 4, window: 6 }),
    joinCase(batch, { ratio: 128, window: 130 }),
    joinCase(batch, { ratio: 4, window: 3, chosen: 5 }),
    attendCase(batch, 'f32', 4),
  ]),
  attendCase(['long', long], 'f16', 128),
  attendCase(['prompt', prompt], 'q8_0', 4),
  sharesCase({ streams: 4, iterations: 20 }),
  sharesCase({ streams: 4, iterations: 1, head: true }),
  sharesCase({ streams: 3, iterations: 1 }),
];
