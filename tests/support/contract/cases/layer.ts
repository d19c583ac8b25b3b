import { BF16, F16, F32, Q4_0, Q4_K, Q6_K, Q8_0, type TensorFormat } from '../../../../src/formats/index.ts';
import {
  add,
  attention,
  embed,
  type GraphBuilder,
  gated,
  gatherRows,
  kvAppend,
  matmul,
  type RopePairs,
  rmsNorm,
  rope,
  ropeTable,
  slice,
  type Tensor,
} from '../../../../src/ops/index.ts';
import { normal } from '../case-data.ts';
import type { Elements, OpCase } from '../op-case.ts';
import { mixedBatch, plainBatch, type RaggedBatch, raggedBatch } from '../ragged-batch.ts';
import { fillCache, pagedCache } from './attention.ts';

interface LayerShape {
  readonly format: TensorFormat;
  readonly cacheType: 'f32' | 'f16' | 'q8_0';
  readonly pairs: RopePairs;
  readonly batch: RaggedBatch;
  /** The format of the value weights, if different. */
  readonly values?: TensorFormat;
  /** Whether there are Q/K norms. */
  readonly headNorms?: boolean;
  /** Whether the output of a sublayer is normalized before it is added. */
  readonly blockNorms?: boolean;
  /** Whether Q, K and V are one product that is split, as are gate and up; and with which biases. */
  readonly fused?: 'without bias' | 'one bias' | 'three biases';
  /** How many values per head RoPE rotates; by default all. */
  readonly rotated?: number;
}

const WIDTH = 256;
const HEADS = 4;
const KV_HEADS = 2;
const HEAD_SIZE = 64;
const HIDDEN = 512;

/** Weights that preserve the magnitude of activations. */
function tamed(elements: Elements, random: () => number): void {
  for (let i = 0; i < elements.length; i++) elements[i] = normal(random) / 16;
}

function attentionBlock(g: GraphBuilder, x: Tensor, of: LayerShape): Tensor {
  const { format, cacheType, pairs, batch, headNorms = false, rotated = HEAD_SIZE } = of;
  const weight = (name: string, rows: number, columns = WIDTH) => g.weight(name, format, rows, columns);
  const kv = KV_HEADS * HEAD_SIZE;
  const cache = pagedCache(g, batch, { type: cacheType, keys: kv, values: kv });
  const table = rotated > 0 && ropeTable(g, { dimensions: rotated, base: 10_000, scaling: { kind: 'none' } });
  const normed = rmsNorm(g, x, g.weight('attn_norm', F32, 1, WIDTH), 1e-5);
  const [q, k, v] = of.fused
    ? cutUp(g, normed, of)
    : [
        matmul(g, normed, weight('attn_q', HEADS * HEAD_SIZE)),
        matmul(g, normed, weight('attn_k', kv)),
        matmul(g, normed, g.weight('attn_v', of.values ?? format, kv, WIDTH)),
      ];
  const turn = (heads: Tensor, norm: string) => {
    const read = headNorms ? rmsNorm(g, heads, g.weight(norm, F32, 1, HEAD_SIZE), 1e-6) : heads;
    return table ? rope(g, read, { table, headSize: HEAD_SIZE, pairs }) : read;
  };
  kvAppend(g, cache, turn(k, 'attn_k_norm'), v);
  const attended = attention(g, turn(q, 'attn_q_norm'), cache, {
    heads: HEADS,
    kvHeads: KV_HEADS,
    keySize: HEAD_SIZE,
    valueSize: HEAD_SIZE,
    scale: 1 / Math.sqrt(HEAD_SIZE),
  });
  return added(g, x, matmul(g, attended, weight('attn_output', WIDTH, HEADS * HEAD_SIZE)), of);
}

/** Q, K and V from one product, with their biases. */
function cutUp(g: GraphBuilder, x: Tensor, { format, fused }: LayerShape): [Tensor, Tensor, Tensor] {
  const kv = KV_HEADS * HEAD_SIZE;
  const rows = HEADS * HEAD_SIZE + 2 * kv;
  const bias = fused === 'one bias' ? g.weight('attn_qkv_bias', F32, 1, rows) : undefined;
  const all = matmul(g, x, g.weight('attn_qkv', format, rows, WIDTH), bias);
  const part = (name: string, first: number, width: number) => {
    const cut = slice(g, all, { offset: first, width });
    return fused === 'three biases' ? add(g, cut, g.weight(name, F32, 1, width)) : cut;
  };
  return [
    part('attn_q_bias', 0, HEADS * HEAD_SIZE),
    part('attn_k_bias', HEADS * HEAD_SIZE, kv),
    part('attn_v_bias', HEADS * HEAD_SIZE + kv, kv),
  ];
}

/** The output of a sublayer, added to its input. */
function added(g: GraphBuilder, x: Tensor, given: Tensor, { blockNorms = false }: LayerShape): Tensor {
  if (!blockNorms) return add(g, given, x);
  return add(g, rmsNorm(g, given, g.weight(`${given.name}_norm`, F32, 1, WIDTH), 1e-5), x);
}

function feedForward(g: GraphBuilder, x: Tensor, of: LayerShape): Tensor {
  const { format } = of;
  const normed = rmsNorm(g, x, g.weight('ffn_norm', F32, 1, WIDTH), 1e-5);
  const both = of.fused && matmul(g, normed, g.weight('ffn_up', format, 2 * HIDDEN, WIDTH));
  const gate = both
    ? slice(g, both, { offset: 0, width: HIDDEN })
    : matmul(g, normed, g.weight('ffn_gate', format, HIDDEN, WIDTH));
  const up = both
    ? slice(g, both, { offset: HIDDEN, width: HIDDEN })
    : matmul(g, normed, g.weight('ffn_up', format, HIDDEN, WIDTH));
  const down = matmul(g, gated(g, 'silu', gate, up), g.weight('ffn_down', format, WIDTH, HIDDEN));
  return added(g, x, down, of);
}

const QUANTIZED = { nmse: 2e-3, reason: 'quantized activations, four matrix products deep' } as const;
const SUMMED = { nmse: 1e-9, reason: 'f32 roundings of a whole layer' } as const;
const HALF = {
  nmse: 1e-6,
  reason: 'keys and values rounded to f16 from slightly different numbers',
} as const;

function limitFor({ format, cacheType }: LayerShape): OpCase['limit'] & object {
  if (format !== F32) return QUANTIZED;
  return cacheType === 'f16' ? HALF : SUMMED;
}

function layerCase(of: LayerShape): OpCase {
  const { format, cacheType, pairs, batch, values, fused, rotated } = of;
  const kinds = [
    ...(of.headNorms ? ['normed'] : []),
    ...(of.blockNorms ? ['blocks normed'] : []),
    ...(fused ? [`fused ${fused}`] : []),
    ...(rotated === undefined ? [] : [`${rotated} values rotated`]),
  ];
  const fill = fillCache(batch, KV_HEADS * HEAD_SIZE);
  const formats = values ? `${format.name}, values ${values.name}` : format.name;
  return {
    op: 'layer',
    name: `llama layer, ${formats}, ${cacheType} cache, ${[pairs, ...kinds].join(', ')}, ${batch.rows} rows`,
    batch,
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width: WIDTH });
      return { y: feedForward(g, attentionBlock(g, x, of), of) };
    },
    fill: { keys: fill, values: fill, ...tamedWeights(format) },
    limit: limitFor(of),
  };
}

function tamedWeights(format: TensorFormat): OpCase['fill'] & object {
  const names = ['attn_q', 'attn_k', 'attn_v', 'attn_qkv', 'attn_output', 'ffn_gate', 'ffn_up', 'ffn_down'];
  return format.encode ? Object.fromEntries(names.map((name) => [name, tamed])) : {};
}

function tiedCase(format: TensorFormat): OpCase {
  const batch = mixedBatch();
  return {
    op: 'layer',
    name: `a tied embedding is table and head, ${format.name}`,
    batch,
    record: (g) => {
      const table = g.weight('token_embd', format, 50, WIDTH);
      const normed = rmsNorm(g, embed(g, table), g.weight('output_norm', F32, 1, WIDTH), 1e-5);
      return { logits: matmul(g, gatherRows(g, normed), table) };
    },
  };
}

const reused: OpCase = {
  op: 'layer',
  name: 'results that are outputs and operands',
  batch: mixedBatch(),
  record: (g) => {
    const x = g.input('x', { axis: 'rows', width: WIDTH });
    const normed = rmsNorm(g, x, g.weight('norm', F32, 1, WIDTH), 1e-5);
    const gate = matmul(g, normed, g.weight('gate', Q8_0, HIDDEN, WIDTH));
    const hidden = gated(g, 'silu', gate, matmul(g, normed, g.weight('up', Q8_0, HIDDEN, WIDTH)));
    const sum = add(g, matmul(g, hidden, g.weight('down', Q8_0, WIDTH, HIDDEN)), x);
    return { normed, gate, hidden, sum, twice: add(g, sum, sum) };
  },
  limit: QUANTIZED,
};

/** Prompts of several sequences within few rows, one of them far into its context. */
const prompts = raggedBatch({
  slices: [
    { slot: 1, from: 100, count: 70 },
    { slot: 0, from: 0, count: 30 },
    { slot: 2, from: 3, count: 1 },
  ],
  blockSize: 16,
});

/** A single row in a step, far enough into its context for several GPU blocks. */
const alone = raggedBatch({
  slices: [{ slot: 0, from: 300, count: 1 }],
  spare: { rows: 0, outputs: 0 },
  blockSize: 16,
});

/** Enough rows that devices call BLAS libraries. */
const longPrompt = raggedBatch({ slices: [{ slot: 0, from: 0, count: 260 }], blockSize: 32 });

/** Enough rows of one sequence for tiles of attention, and for products that round activations. */
const prompt = raggedBatch({ slices: [{ slot: 0, from: 0, count: 40 }], blockSize: 32 });

/** Prompts by weights of 16 bits. */
export const HALF_PROMPTS: readonly OpCase[] = [F16, BF16].map((format) =>
  layerCase({ format, cacheType: 'f16', pairs: 'neox', batch: prompt }),
);

export const LAYER_CASES: readonly OpCase[] = [
  layerCase({ format: F32, cacheType: 'f32', pairs: 'interleaved', batch: mixedBatch() }),
  layerCase({ format: F32, cacheType: 'f16', pairs: 'neox', batch: mixedBatch({ blockSize: 16 }) }),
  layerCase({ format: F16, cacheType: 'f16', pairs: 'interleaved', batch: mixedBatch() }),
  layerCase({ format: BF16, cacheType: 'f16', pairs: 'neox', batch: mixedBatch(), headNorms: true }),
  layerCase({ format: F16, cacheType: 'f32', pairs: 'neox', batch: plainBatch(20), fused: 'three biases' }),
  ...HALF_PROMPTS,
  layerCase({ format: Q8_0, cacheType: 'f32', pairs: 'interleaved', batch: plainBatch(1) }),
  layerCase({ format: Q8_0, cacheType: 'f16', pairs: 'interleaved', batch: mixedBatch() }),
  layerCase({ format: Q8_0, cacheType: 'f16', pairs: 'interleaved', batch: mixedBatch(), values: Q4_0 }),
  layerCase({ format: Q8_0, cacheType: 'f16', pairs: 'interleaved', batch: alone, values: Q4_0 }),
  layerCase({ format: Q8_0, cacheType: 'f16', pairs: 'neox', batch: alone }),
  layerCase({ format: Q8_0, cacheType: 'f16', pairs: 'neox', batch: prompts }),
  layerCase({ format: Q4_0, cacheType: 'f16', pairs: 'interleaved', batch: longPrompt }),
  layerCase({ format: Q8_0, cacheType: 'f16', pairs: 'neox', batch: alone, headNorms: true }),
  layerCase({
    ...{ format: Q8_0, cacheType: 'f32', pairs: 'interleaved', batch: mixedBatch() },
    ...{ headNorms: true, blockNorms: true, values: Q4_0 },
  }),
  layerCase({ format: Q8_0, cacheType: 'f16', pairs: 'neox', batch: prompts, headNorms: true }),
  layerCase({ format: Q8_0, cacheType: 'q8_0', pairs: 'interleaved', batch: alone }),
  layerCase({ format: Q8_0, cacheType: 'q8_0', pairs: 'neox', batch: mixedBatch() }),
  layerCase({ format: Q8_0, cacheType: 'q8_0', pairs: 'neox', batch: prompts, headNorms: true }),
  layerCase({ format: Q8_0, cacheType: 'f16', pairs: 'neox', batch: alone, fused: 'without bias' }),
  layerCase({
    ...{ format: Q4_0, cacheType: 'q8_0', pairs: 'interleaved', batch: mixedBatch() },
    fused: 'three biases',
  }),
  layerCase({
    format: Q8_0,
    cacheType: 'f16',
    pairs: 'neox',
    batch: prompts,
    fused: 'one bias',
    rotated: 32,
  }),
  layerCase({ format: Q8_0, cacheType: 'f16', pairs: 'neox', batch: alone, fused: 'one bias', rotated: 0 }),
  layerCase({ format: Q8_0, cacheType: 'q8_0', pairs: 'neox', batch: plainBatch(2), rotated: 0 }),
  layerCase({
    format: F32,
    cacheType: 'f32',
    pairs: 'interleaved',
    batch: mixedBatch(),
    fused: 'three biases',
  }),
  layerCase({
    format: Q8_0,
    cacheType: 'f16',
    pairs: 'interleaved',
    batch: alone,
    headNorms: true,
    fused: 'one bias',
  }),
  ...[F32, Q8_0, Q4_K, Q6_K].map(tiedCase),
  reused,
];
