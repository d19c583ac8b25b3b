import {
  attention,
  type ChosenBlocks,
  choosePositions,
  type GraphBuilder,
  indexScores,
  type StateType,
  type Tensor,
} from '../../../../src/ops/index.ts';
import type { Elements, OpCase } from '../op-case.ts';
import { mixedBatch, type RaggedBatch, raggedBatch } from '../ragged-batch.ts';
import { fillCache, pagedCache } from './attention.ts';

/** A sequence far into its context together with one that has just begun. */
const long = raggedBatch({
  slices: [
    { slot: 1, from: 611, count: 2 },
    { slot: 0, from: 0, count: 3 },
  ],
  blockSize: 16,
});

/** A single row in a step. */
const alone = raggedBatch({
  slices: [{ slot: 0, from: 290, count: 1 }],
  spare: { rows: 0, outputs: 0 },
  blockSize: 32,
});

/** More rows than attention takes one by one, of prompts of which one is far into its context. */
const prompts = raggedBatch({
  slices: [
    { slot: 1, from: 100, count: 30 },
    { slot: 0, from: 0, count: 20 },
  ],
  blockSize: 16,
});

const BATCHES: readonly (readonly [name: string, batch: RaggedBatch])[] = [
  ['mixed', mixedBatch()],
  ['long', long],
  ['a row alone at 290', alone],
  ['prompts', prompts],
];

function scoresOf(g: GraphBuilder, { blockSize }: RaggedBatch, groups = 1): Tensor {
  return g.input('scores', { axis: 'rows', width: groups * g.batch.blocks.width * blockSize });
}

function scoreCase(
  [name, batch]: (typeof BATCHES)[number],
  of: { readonly heads: number; readonly size: number; readonly type: StateType; readonly byHead?: true },
): OpCase {
  const { heads, size, type, byHead } = of;
  return {
    op: 'indexScores',
    name: `${heads} heads of ${size}${byHead ? ' apart' : ''}, ${type}, ${name}`,
    batch,
    record: (g) => {
      const q = g.input('q', { axis: 'rows', width: heads * size });
      const cache = pagedCache(g, batch, { type, keys: size, values: undefined });
      const scored = byHead ? { heads } : { weights: g.input('weights', { axis: 'rows', width: heads }) };
      return { y: indexScores(g, { q, cache, ...scored }) };
    },
    fill: { keys: fillCache(batch, size) },
  };
}

/** Blocks of 8 neighbouring positions, of which those around the row's own are always chosen. */
const BLOCKS = { size: 8, local: 2 } as const;

/** Few different scores, so that many are equal at the border, among them both zeros; and here and there no number. */
function fillEqual(elements: Elements): void {
  const values = [1, 0, -0, 3, -1e30, Number.NEGATIVE_INFINITY, 2, Number.NaN, 2e30, 0];
  for (let i = 0; i < elements.length; i++)
    elements[i] = values[(i * i + (i >> 3)) % values.length] as number;
}

function choiceCase(
  [name, batch]: (typeof BATCHES)[number],
  count: number,
  fill?: (elements: Elements) => void,
): OpCase {
  return {
    op: 'choosePositions',
    name: `${count} of them${fill ? ', many equal' : ''}, ${name}`,
    batch,
    record: (g) => {
      const cache = { blocks: g.batch.blocks, blockSize: batch.blockSize };
      return { ...choosePositions(g, scoresOf(g, batch), { count, cache }) };
    },
    ...(fill && { fill: { scores: fill } }),
  };
}

/** Blocks of positions, chosen for three groups apart. */
function blockCase(
  [name, batch]: (typeof BATCHES)[number],
  chosenBlocks: ChosenBlocks,
  fill?: (elements: Elements) => void,
): OpCase {
  const { size, local } = chosenBlocks;
  return {
    op: 'choosePositions',
    name: `4 blocks of ${size} for each of 3 groups, ${local} of them local${fill ? ', many equal' : ''}, ${name}`,
    batch,
    record: (g) => {
      const cache = { blocks: g.batch.blocks, blockSize: batch.blockSize };
      const rule = { count: 4, cache, groups: 3, chosenBlocks };
      return { ...choosePositions(g, scoresOf(g, batch, 3), rule) };
    },
    ...(fill && { fill: { scores: fill } }),
  };
}

interface ChosenHeads {
  readonly heads: number;
  readonly kvHeads: number;
  readonly keySize: number;
  readonly valueSize: number;
  readonly type: StateType;
  readonly latent?: boolean;
  /** Whether each key head has positions of its own, in blocks. */
  readonly byGroup?: boolean;
}

/** Attention to chosen positions; every cell that is not of the sequence is NaN. */
function chosenCase(
  [name, batch]: (typeof BATCHES)[number],
  count: number,
  { latent = false, byGroup = false, type, ...of }: ChosenHeads,
): OpCase {
  const keys = of.kvHeads * of.keySize;
  const values = latent ? undefined : of.kvHeads * of.valueSize;
  return {
    op: 'attention',
    name: `${of.heads}/${of.kvHeads} heads of ${of.keySize}, ${type}, ${count} chosen ${byGroup ? 'blocks by head' : 'positions'}, ${name}`,
    batch,
    record: (g) => {
      const cache = pagedCache(g, batch, { type, keys, values });
      const chosen = byGroup
        ? choosePositions(g, scoresOf(g, batch, of.kvHeads), {
            ...{ count, cache, groups: of.kvHeads, chosenBlocks: BLOCKS },
          })
        : choosePositions(g, scoresOf(g, batch), { count, cache });
      const q = g.input('q', { axis: 'rows', width: of.heads * of.keySize });
      return { y: attention(g, q, cache, { ...of, scale: 1 / Math.sqrt(of.keySize), chosen }) };
    },
    fill: {
      keys: fillCache(batch, keys),
      ...(values !== undefined && { values: fillCache(batch, values) }),
    },
  };
}

const LATENT = { heads: 8, kvHeads: 1, keySize: 96, valueSize: 64, latent: true } as const;

export const SPARSE_ATTENTION_CASES: readonly OpCase[] = [
  ...BATCHES.flatMap((batch) => [
    scoreCase(batch, { heads: 4, size: 32, type: 'f32' }),
    scoreCase(batch, { heads: 4, size: 64, type: 'q8_0' }),
    scoreCase(batch, { heads: 3, size: 32, type: 'f16', byHead: true }),
    choiceCase(batch, 7),
    choiceCase(batch, 40, fillEqual),
    blockCase(batch, BLOCKS),
    blockCase(batch, { size: 5, local: 0 }, fillEqual),
  ]),
  scoreCase(['long', long], { heads: 64, size: 128, type: 'f16' }),
  scoreCase(['mixed', mixedBatch()], { heads: 35, size: 36, type: 'f16' }),
  choiceCase(['mixed', mixedBatch()], 1000),
  choiceCase(['prompts', prompts], 1, fillEqual),
  ...(['f32', 'f16', 'q8_0'] as const).flatMap((type) => [
    chosenCase(['mixed', mixedBatch()], 6, { ...LATENT, type }),
    chosenCase(['long', long], 200, { ...LATENT, type }),
    chosenCase(['a row alone at 290', alone], 100, { ...LATENT, type }),
    chosenCase(['prompts', prompts], 48, { ...LATENT, type }),
    ...BATCHES.map((batch) =>
      chosenCase(batch, 3, {
        ...{ heads: 8, kvHeads: 2, keySize: 64, valueSize: 64, type, byGroup: true },
      }),
    ),
  ]),
  chosenCase(['prompts', prompts], 33, { heads: 4, kvHeads: 2, keySize: 64, valueSize: 64, type: 'f16' }),
];
