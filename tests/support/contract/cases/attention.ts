import { invariant } from '../../../../src/base/errors.ts';
import { F32, Q8_0 } from '../../../../src/formats/index.ts';
import {
  type AttentionParameters,
  attention,
  type GraphBuilder,
  kvAppend,
  matmul,
  matmulHeads,
  type PagedCache,
  STATE_BLOCK,
  type StateType,
} from '../../../../src/ops/index.ts';
import { normal } from '../case-data.ts';
import type { Fill, OpCase } from '../op-case.ts';
import { mixedBatch, plainBatch, type RaggedBatch, raggedBatch } from '../ragged-batch.ts';

interface CacheShape {
  readonly type: StateType;
  /** Default: the type of the keys. */
  readonly valueType?: StateType | undefined;
  readonly keys: number;
  /** Undefined when values are the first elements of the keys. */
  readonly values: number | undefined;
}

/** The name of a block table that is not the batch's. */
const OWN_TABLE = 'own blocks';

/** The states of a paged cache for a batch, addressed by the batch's block table or by one of its own. */
export function pagedCache(
  g: GraphBuilder,
  batch: RaggedBatch,
  of: CacheShape & { readonly hasOwnTable?: boolean | undefined },
): PagedCache {
  const { width } = g.batch.blocks;
  return {
    keys: g.state('keys', of.type, batch.cells, of.keys),
    values:
      of.values === undefined
        ? undefined
        : g.state('values', of.valueType ?? of.type, batch.cells, of.values),
    blocks: of.hasOwnTable ? g.input(OWN_TABLE, { axis: 'slots', width, type: 'i32' }) : g.batch.blocks,
    blockSize: batch.blockSize,
  };
}

/** Cells that hold positions up to the last one of their sequence in the batch, within the window. */
function cellsInUse(batch: RaggedBatch, window = Number.POSITIVE_INFINITY): Set<number> {
  const cells = new Set<number>();
  batch.slots.forEach((slot, row) => {
    const last = batch.positions[row] ?? -1;
    for (let position = Math.max(0, last - window + 1); position <= last; position++) {
      const block = batch.blocks[slot]?.[Math.floor(position / batch.blockSize)] ?? -1;
      cells.add(block * batch.blockSize + (position % batch.blockSize));
    }
  });
  return cells;
}

/** Normal numbers at valid positions and NaN in every other cell, none of which may affect a result. */
export function fillCache(batch: RaggedBatch, width: number, window?: number): Fill {
  const used = cellsInUse(batch, window);
  return (elements, random) => {
    for (let i = 0; i < elements.length; i++) {
      elements[i] = used.has(Math.floor(i / width)) ? normal(random) : Number.NaN;
    }
  };
}

/**
 * The batch with its sequences elsewhere in the cache; behind the window its table contains blocks that no sequence
 * owns, as after they are reused.
 */
function elsewhere(batch: RaggedBatch, window: number): RaggedBatch {
  const { blockSize } = batch;
  const count = Math.floor(batch.cells / blockSize);
  const moved = { ...batch, blocks: batch.blocks.map((row) => row.map((block) => (block + 1) % count)) };
  const used = new Set([...cellsInUse(moved, window)].map((cell) => Math.floor(cell / blockSize)));
  const spare = Array.from({ length: count }, (_, block) => block).find((block) => !used.has(block)) ?? 0;
  return {
    ...moved,
    blocks: moved.blocks.map((row) => row.map((block) => (used.has(block) ? block : spare))),
  };
}

function fillTable({ blocks, shape }: RaggedBatch): Fill {
  return (elements) => {
    for (const [slot, row] of blocks.entries()) elements.set(row, slot * shape.blocksPerSlot);
  };
}

interface AttentionShape extends Partial<Omit<AttentionParameters, 'sinks'>> {
  readonly heads: number;
  readonly kvHeads: number;
  readonly keySize: number;
  readonly type?: StateType | undefined;
  /** Default: the type of the keys. */
  readonly valueType?: StateType | undefined;
  /** How far rows attend, if not up to their own position. */
  readonly looks?: Look;
  /** Whether values are the first elements of the keys. */
  readonly latent?: boolean;
  /** Whether the softmax includes a learned score (sink) for each head. */
  readonly hasSinks?: boolean;
  /** Whether the cache has its own block table, in which nothing behind the window is kept. */
  readonly hasOwnTable?: boolean;
}

/** The last position that a row attends to, given its own and the last of its sequence in the batch. */
type Look = (position: number, last: number) => number;

/** The whole text, as in encoders. */
const whole: Look = (_, last) => last;
/** Half of what follows, so that the rows of a tile have different limits, which do not follow from their positions. */
const ahead: Look = (position, last) => position + Math.ceil((last - position) / 2);

/** The limits of the batch's rows. */
function fillCausalLimits(batch: RaggedBatch, look: Look): Fill {
  const lasts = new Map<number, number>();
  batch.slots.forEach((slot, row) => {
    lasts.set(slot, Math.max(lasts.get(slot) ?? 0, batch.positions[row] ?? 0));
  });
  const limits = batch.slots.map((slot, row) => look(batch.positions[row] ?? 0, lasts.get(slot) ?? 0));
  return (elements) => elements.set(limits);
}

/** The types of keys and values in a case's name. */
function typesOf({
  type = 'f32',
  valueType = type,
}: {
  readonly type?: StateType | undefined;
  readonly valueType?: StateType | undefined;
}): string {
  return type === valueType ? type : `${type} and ${valueType}`;
}

/** Attention over a cache of random cells. */
export function attentionCase(name: string, batch: RaggedBatch, shape: AttentionShape): OpCase {
  const { looks, latent, hasOwnTable, hasSinks, valueType, ...of } = shape;
  const parameters: AttentionParameters = {
    valueSize: of.keySize,
    scale: 1 / Math.sqrt(of.keySize),
    ...of,
  };
  const keys = of.kvHeads * of.keySize;
  const values = latent ? undefined : of.kvHeads * parameters.valueSize;
  const found = hasOwnTable && of.window !== undefined ? elsewhere(batch, of.window) : batch;
  const cached = (width: number) => fillCache(found, width, hasOwnTable ? of.window : undefined);
  return {
    op: 'attention',
    name: `${of.heads}/${of.kvHeads} heads of ${of.keySize}, ${typesOf(shape)}, ${name}`,
    batch,
    record: (g) => {
      const q = g.input('q', { axis: 'rows', width: of.heads * of.keySize });
      const cache = pagedCache(g, batch, {
        ...{ type: of.type ?? 'f32', valueType, keys, values, hasOwnTable },
      });
      const causalLimit = looks && g.input('causal_limits', { axis: 'rows', width: 1, type: 'i32' });
      const sinks = hasSinks ? g.weight('sinks', F32, 1, of.heads) : undefined;
      return { y: attention(g, q, cache, { ...parameters, sinks, ...(causalLimit && { causalLimit }) }) };
    },
    fill: {
      keys: cached(keys),
      ...(values !== undefined && { values: cached(values) }),
      ...(hasOwnTable && { [OWN_TABLE]: fillTable(found) }),
      ...(looks && { causal_limits: fillCausalLimits(batch, looks) }),
    },
  };
}

/** Appending to a cache whose state is compared bit for bit. */
export function appendCase(name: string, batch: RaggedBatch, of: CacheShape, fill?: Fill): OpCase {
  return {
    op: 'kvAppend',
    name: `${typesOf(of)}, ${of.keys} + ${of.values ?? 'no'} wide, ${name}`,
    batch,
    record: (g) => {
      const k = g.input('k', { axis: 'rows', width: of.keys });
      const v = of.values === undefined ? undefined : g.input('v', { axis: 'rows', width: of.values });
      kvAppend(g, pagedCache(g, batch, of), k, v);
      return {};
    },
    ...(fill ? { fill: { k: fill, v: fill } } : {}),
  };
}

/** Blocks whose quantization is prone to differ between devices: by number, the values of their elements. */
const HARD_BLOCKS: readonly ((i: number) => number)[] = [
  // Quantized values halfway between two integers.
  (i) => (i === 5 ? 127 : (i % 2 === 0 ? 1 : -1) * (i + 0.5)),
  () => 0,
  // A scale that is a subnormal half, one that rounds to zero, and one whose reciprocal overflows f32.
  (i) => (i - 9) * 1e-5,
  (i) => (i - 9) * 1e-8,
  (i) => (i - 9) * 2e-41,
  // The largest scale, and one that overflows a half.
  (i) => (i - 31) * 2.6e5,
  (i) => (i - 31) * 2.8e5,
  (i) => (i === 3 ? Number.NaN : i),
  (i) => (i === 17 ? Number.NEGATIVE_INFINITY : i),
];

/** These blocks, and normal ones. */
export const hardBlocks: Fill = (elements, random) => {
  for (let i = 0; i < elements.length; i++) {
    const block = HARD_BLOCKS[Math.floor(i / STATE_BLOCK) % HARD_BLOCKS.length];
    elements[i] = block?.(i % STATE_BLOCK) ?? normal(random);
  }
};

/** A sequence far into its context together with one that has just begun. */
export const long = raggedBatch({
  slices: [
    { slot: 1, from: 611, count: 2 },
    { slot: 0, from: 0, count: 3 },
  ],
  blockSize: 16,
});

/** A single row in a step. */
export function alone(from: number): RaggedBatch {
  const spare = { rows: 0, outputs: 0 };
  return raggedBatch({ slices: [{ slot: 0, from, count: 1 }], spare, blockSize: 16 });
}

/** Enough rows for tiles, of prompts that share a tile and of one that is far into its context. */
export const prompts = raggedBatch({
  slices: [
    { slot: 1, from: 100, count: 70 },
    { slot: 0, from: 0, count: 20 },
    { slot: 2, from: 3, count: 1 },
  ],
  blockSize: 16,
});

/** The same for two sequences with interleaved rows. */
export const turns = raggedBatch({
  slices: [
    { slot: 1, from: 30, count: 20 },
    { slot: 0, from: 0, count: 20 },
  ],
  interleaved: true,
});

/**
 * Rows that attend less far than to their positions: single ones, few and many per sequence, over every kind of cache.
 */
const REACH_CASES: readonly OpCase[] = (['f32', 'f16', 'q8_0'] as const).flatMap((type) => {
  const of = { heads: 4, kvHeads: 2, keySize: 64, type } as const;
  return [
    attentionCase('mixed, whole texts', mixedBatch(), { ...of, looks: whole }),
    attentionCase('a row alone, looking back', alone(40), { ...of, looks: (position) => position - 9 }),
    attentionCase('prompts, whole texts', prompts, { ...of, looks: whole }),
    attentionCase('prompts, some of what is to come', prompts, { ...of, looks: ahead }),
    attentionCase('in turns, whole texts', turns, { ...of, looks: whole }),
    attentionCase('prompts, window of 20 ahead', prompts, { ...of, window: 20, looks: ahead }),
    attentionCase('prompts, reach of 7', prompts, { ...of, reach: 7, looks: whole }),
    attentionCase('mixed, reach of 33', mixedBatch(), { ...of, reach: 33, looks: whole }),
    attentionCase('prompts, reach of 30, ALiBi', prompts, { ...of, alibiBias: 8, reach: 30, looks: whole }),
  ];
});

/**
 * A cache of quantized blocks: one per head, several, an odd number per cell; single rows, many and few per sequence.
 */
const QUANTIZED_CASES: readonly OpCase[] = [
  attentionCase('mixed', mixedBatch(), { heads: 4, kvHeads: 4, keySize: 32, type: 'q8_0' }),
  attentionCase('mixed', mixedBatch({ blockSize: 1 }), { heads: 8, kvHeads: 2, keySize: 64, type: 'q8_0' }),
  attentionCase('values of 96', mixedBatch({ blockSize: 32 }), {
    ...{ heads: 6, kvHeads: 1, keySize: 32, valueSize: 96, type: 'q8_0' },
  }),
  attentionCase('long', long, { heads: 4, kvHeads: 2, keySize: 64, type: 'q8_0' }),
  attentionCase('window of 5', mixedBatch(), { heads: 2, kvHeads: 1, keySize: 32, window: 5, type: 'q8_0' }),
  attentionCase('a row alone at 290', alone(290), { heads: 4, kvHeads: 2, keySize: 128, type: 'q8_0' }),
  attentionCase('prompts', prompts, { heads: 4, kvHeads: 2, keySize: 64, type: 'q8_0' }),
  attentionCase('prompts, window of 20 and soft cap', prompts, {
    ...{ heads: 2, kvHeads: 1, keySize: 32, valueSize: 64, softCap: 5, window: 20, type: 'q8_0' },
  }),
  attentionCase('in turns', turns, { heads: 2, kvHeads: 2, keySize: 32, type: 'q8_0' }),
  appendCase('mixed', mixedBatch(), { type: 'q8_0', keys: 64, values: 64 }),
  appendCase('mixed', mixedBatch({ blockSize: 1 }), { type: 'q8_0', keys: 32, values: 96 }),
  appendCase('33 rows', plainBatch(33), { type: 'q8_0', keys: 256, values: 32 }),
  appendCase('hard blocks', plainBatch(5), { type: 'q8_0', keys: 320, values: 224 }, hardBlocks),
];

/** Windows over a separate block table, as in models with several groups of state. */
const OWN_TABLE_CASES: readonly OpCase[] = (['f32', 'f16', 'q8_0'] as const).flatMap((type) => {
  const of = { heads: 4, kvHeads: 2, keySize: 64, type, hasOwnTable: true } as const;
  return [
    attentionCase('long, window of 40 by its own table', long, { ...of, window: 40 }),
    attentionCase('prompts, window of 20 by their own table', prompts, { ...of, window: 20 }),
    attentionCase('a row alone at 290, window of 33 by its own table', alone(290), { ...of, window: 33 }),
  ];
});

/**
 * Sinks, with few rows, many, and a context in partitions. Scores are of the sinks' magnitude, so that these matter;
 * with a window of one position they matter most.
 */
const SINK_CASES: readonly OpCase[] = (['f32', 'f16', 'q8_0'] as const).flatMap((type) => {
  const of = { heads: 8, kvHeads: 2, keySize: 64, type, hasSinks: true } as const;
  return [
    attentionCase('mixed, sinks', mixedBatch(), of),
    attentionCase('mixed, a window of 1, sinks', mixedBatch(), { ...of, window: 1 }),
    attentionCase('long, sinks', long, { ...of, heads: 4, valueSize: 96 }),
    attentionCase('a row alone at 290, sinks', alone(290), of),
    attentionCase('a row alone at 290, a window of 40, soft cap, sinks', alone(290), {
      ...{ ...of, window: 40, softCap: 3 },
    }),
    attentionCase('prompts, sinks', prompts, of),
    attentionCase('prompts, a window of 20 by their own table, sinks', prompts, {
      ...{ ...of, window: 20, hasOwnTable: true },
    }),
    attentionCase('in turns, a head a key head, sinks', turns, { ...of, kvHeads: 8 }),
  ];
});

/**
 * Queries that are scaled up every 16 positions, as Llama 4's are every 8192, from the first position or from the 16th.
 */
const TEMPERATURE_CASES: readonly OpCase[] = (['f32', 'f16', 'q8_0'] as const).flatMap((type) => {
  const temperature = { temperatureScale: 0.1, temperatureLength: 16 } as const;
  const of = { heads: 4, kvHeads: 2, keySize: 64, type, ...temperature } as const;
  return [
    attentionCase('mixed, temperature', mixedBatch(), { ...of, temperatureOffset: 1 }),
    attentionCase('a row alone at 290, temperature', alone(290), of),
    attentionCase('prompts, temperature', prompts, { ...of, temperatureOffset: 1 }),
    attentionCase('in turns, temperature', turns, of),
  ];
});

/**
 * ALiBi's bias, with a power of two of heads and without; chunks of which rows see their own: few rows, many, rows of
 * other limits, and a context in partitions.
 */
const BIAS_AND_CHUNK_CASES: readonly OpCase[] = (['f32', 'f16', 'q8_0'] as const).flatMap((type) => {
  const alibi = { heads: 4, kvHeads: 2, keySize: 64, type, alibiBias: 8 } as const;
  const chunked = { heads: 4, kvHeads: 2, keySize: 64, type, chunk: 24 } as const;
  return [
    attentionCase('mixed, ALiBi', mixedBatch(), { ...alibi, heads: 6 }),
    attentionCase('a row alone at 290, ALiBi', alone(290), { ...alibi, kvHeads: 1, window: 200 }),
    attentionCase('prompts, ALiBi', prompts, { ...alibi, heads: 6, hasSinks: true }),
    attentionCase('mixed, chunks', mixedBatch(), { ...chunked, chunk: 3 }),
    attentionCase('a row alone at 290, chunks', alone(290), { ...chunked, chunk: 200 }),
    attentionCase('prompts, chunks', prompts, chunked),
    attentionCase('in turns, chunks', turns, chunked),
  ];
});

/** Heads as wide as in Gemma 4's layers without a window. */
const WIDE_CASES: readonly OpCase[] = [
  attentionCase('mixed', mixedBatch(), { heads: 4, kvHeads: 2, keySize: 512, type: 'f16' }),
  attentionCase('prompts', prompts, { heads: 2, kvHeads: 1, keySize: 512, type: 'f16' }),
  attentionCase('a row alone at 290', alone(290), { heads: 4, kvHeads: 1, keySize: 512, type: 'q8_0' }),
];

/**
 * Caches of latents, whose values are the first elements of their keys: small ones, and ones of DeepSeek's size, for
 * single rows, few and many, for tiles, and over a context in partitions.
 */
const LATENT_CASES: readonly OpCase[] = (['f32', 'f16', 'q8_0'] as const).flatMap((type) => {
  const small = { heads: 6, kvHeads: 1, keySize: 96, valueSize: 64, type, latent: true } as const;
  const large = { heads: 16, kvHeads: 1, keySize: 576, valueSize: 512, type, latent: true } as const;
  return [
    attentionCase('mixed, latent', mixedBatch(), small),
    attentionCase('long, latent, of two key heads', long, { ...small, kvHeads: 2 }),
    attentionCase('a row alone at 290, latent', alone(290), { ...small, hasSinks: true }),
    attentionCase('prompts, latent', prompts, small),
    attentionCase('in turns, latent', turns, { ...small, keySize: 64, valueSize: 32, window: 9 }),
    attentionCase('a row alone at 40, latent', alone(40), large),
    attentionCase('mixed, latent', mixedBatch(), large),
    appendCase('mixed', mixedBatch(), { type, keys: 576, values: undefined }),
  ];
});

/** Outputs of a product of attention's result. */
const READ_WIDTH = 32;

/** Attention whose result a quantized product reads, of each head by itself if the cache holds latents: devices may write it in that form. */
function readCase(name: string, batch: RaggedBatch, shape: AttentionShape): OpCase {
  const { heads, valueSize = shape.keySize, latent } = shape;
  const of = attentionCase(`${name}, read by a product`, batch, shape);
  return {
    ...of,
    record: (g) => {
      const { y } = of.record(g);
      invariant(y, 'the case has a result');
      if (!latent) return { y: matmul(g, y, g.weight('w', Q8_0, READ_WIDTH, heads * valueSize)) };
      return { y: matmulHeads(g, y, g.weight('w', Q8_0, heads * READ_WIDTH, valueSize), heads) };
    },
    limit: { nmse: 2e-3, reason: 'quantized activations' },
  };
}

/** Prompts over heads of all sizes for which devices have tiles of their own. */
const READ_CASES: readonly OpCase[] = [
  readCase('prompts, window of 20', prompts, {
    ...{ heads: 4, kvHeads: 2, keySize: 256, window: 20, type: 'f16' },
  }),
  readCase('in turns, sinks', turns, { heads: 2, kvHeads: 1, keySize: 512, type: 'q8_0', hasSinks: true }),
  readCase('prompts, latent', prompts, {
    ...{ heads: 8, kvHeads: 1, keySize: 576, valueSize: 512, type: 'f16', latent: true },
  }),
  readCase('prompts', prompts, {
    heads: 2,
    kvHeads: 2,
    keySize: 192,
    valueSize: 128,
    type: 'q8_0',
    valueType: 'q4_0',
  }),
];

/** Key heads with more query heads than a product has rows, or odd numbers of them, for heads of every size that has a kernel. */
const GROUP_CASES: readonly OpCase[] = [
  attentionCase('a row alone at 700', alone(700), { heads: 20, kvHeads: 1, keySize: 64, type: 'f16' }),
  attentionCase('a row alone at 700', alone(700), { heads: 10, kvHeads: 2, keySize: 256, type: 'f16' }),
  attentionCase('a row alone at 290, values of 128', alone(290), {
    ...{ heads: 12, kvHeads: 1, keySize: 192, valueSize: 128, type: 'f16' },
  }),
  attentionCase('long', long, { heads: 16, kvHeads: 1, keySize: 256, type: 'f16' }),
  attentionCase('long, window of 300', long, {
    heads: 9,
    kvHeads: 1,
    keySize: 128,
    window: 300,
    type: 'f16',
  }),
];

export const ATTENTION_CASES: readonly OpCase[] = [
  ...WIDE_CASES,
  ...GROUP_CASES,
  ...READ_CASES,
  ...(['f32', 'f16'] as const).flatMap((type) => [
    attentionCase('mixed', mixedBatch(), { heads: 4, kvHeads: 4, keySize: 32, type }),
    attentionCase('mixed', mixedBatch({ blockSize: 1 }), { heads: 8, kvHeads: 2, keySize: 64, type }),
    attentionCase('mixed', mixedBatch({ blockSize: 32 }), { heads: 6, kvHeads: 1, keySize: 20, type }),
    attentionCase('values of 24', mixedBatch(), { heads: 4, kvHeads: 2, keySize: 40, valueSize: 24, type }),
    attentionCase('long', long, { heads: 4, kvHeads: 2, keySize: 64, type }),
    attentionCase('window of 5', mixedBatch(), { heads: 2, kvHeads: 1, keySize: 32, window: 5, type }),
  ]),
  ...[1, 3, 4, 7, 33, 70].map((rows) =>
    attentionCase(`${rows} rows`, plainBatch(rows), { heads: 4, kvHeads: 2, keySize: 128 }),
  ),
  ...[0, 1, 40, 290].map((from) =>
    attentionCase(`a row alone at ${from}`, alone(from), {
      ...{ heads: 4, kvHeads: 2, keySize: 64, type: 'f16' },
    }),
  ),
  attentionCase('prompts', prompts, { heads: 4, kvHeads: 2, keySize: 64, type: 'f16' }),
  attentionCase('prompts, window of 20 and soft cap', prompts, {
    ...{ heads: 2, kvHeads: 1, keySize: 32, valueSize: 64, softCap: 5, window: 20, type: 'f16' },
  }),
  attentionCase('in turns', turns, { heads: 2, kvHeads: 2, keySize: 32, type: 'f16' }),
  attentionCase('window of 1', mixedBatch(), { heads: 2, kvHeads: 2, keySize: 16, window: 1 }),
  attentionCase('long window', long, { heads: 2, kvHeads: 1, keySize: 32, window: 100, type: 'f16' }),
  attentionCase('soft cap', mixedBatch(), { heads: 4, kvHeads: 2, keySize: 32, softCap: 2, scale: 1 }),
  attentionCase('soft cap and window', long, { heads: 2, kvHeads: 1, keySize: 32, softCap: 5, window: 64 }),
  attentionCase('large scores', mixedBatch(), { heads: 2, kvHeads: 2, keySize: 64, scale: 4 }),
  attentionCase('odd size', mixedBatch(), { heads: 3, kvHeads: 3, keySize: 7 }),
  ...REACH_CASES,
  ...OWN_TABLE_CASES,
  ...SINK_CASES,
  ...LATENT_CASES,
  ...TEMPERATURE_CASES,
  ...BIAS_AND_CHUNK_CASES,
  ...QUANTIZED_CASES,
  ...(['f32', 'f16'] as const).flatMap((type) => [
    appendCase('mixed', mixedBatch(), { type, keys: 64, values: 64 }),
    appendCase('mixed', mixedBatch({ blockSize: 1 }), { type, keys: 6, values: 10 }),
    appendCase('33 rows', plainBatch(33), { type, keys: 128, values: 32 }),
    appendCase('1 row', plainBatch(1), { type, keys: 128, values: 128 }),
  ]),
];
