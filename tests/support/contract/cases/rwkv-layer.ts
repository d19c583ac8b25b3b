import { BF16, F16, F32, type TensorFormat } from '../../../../src/formats/index.ts';
import {
  add,
  type GraphBuilder,
  groupNorm,
  l2Norm,
  layerNorm,
  lerp,
  matmul,
  mul,
  scale,
  type Tensor,
  tokenShift,
  unary,
  wkv7,
  wkvBonus,
} from '../../../../src/ops/index.ts';
import { normal } from '../case-data.ts';
import type { Elements, OpCase } from '../op-case.ts';
import { mixedBatch, plainBatch, type RaggedBatch, raggedBatch } from '../ragged-batch.ts';
import { RECURRENT_BATCHES } from './recurrence.ts';

const WIDTH = 64;
const RANK = 16;
const MIXTURES = 4;

/** Weights that preserve the magnitude of activations. */
function tamed(elements: Elements, random: () => number): void {
  for (let i = 0; i < elements.length; i++) elements[i] = normal(random) / 8;
}

/** The operators of an RWKV-7 layer as its architecture records them, with fewer of each kind. */
function record(g: GraphBuilder, format: TensorFormat, headSize: number): Readonly<Record<string, Tensor>> {
  const vector = (name: string) => g.weight(name, F32, 1, WIDTH);
  const product = (x: Tensor, name: string, rows = WIDTH) =>
    matmul(g, x, g.weight(name, format, rows, x.width));
  const x = g.input('x', { axis: 'rows', width: WIDTH });
  const normed = layerNorm(g, x, { weight: vector('ln'), bias: vector('ln.bias'), epsilon: 1e-5 });
  const before = tokenShift(g, normed, g.state('last', 'f32', g.shape.slots, WIDTH));
  const shares = g.weight('shares', F32, MIXTURES, WIDTH);
  const [first, second, third, fourth] = Array.from({ length: MIXTURES }, (_, row) =>
    lerp(g, normed, before, { t: shares, row }),
  ) as [Tensor, Tensor, Tensor, Tensor];
  const r = product(first, 'r');
  const key = product(second, 'k');
  const value = product(third, 'v');
  const inner = unary(g, 'tanh', product(fourth, 'w1', RANK));
  const rate = unary(g, 'sigmoid', add(g, product(fourth, 'a'), vector('a0')));
  const gate = product(second, 'g');
  const slowness = unary(g, 'sigmoid', add(g, product(inner, 'w2'), vector('w0')));
  const w = unary(g, 'exp', scale(g, slowness, -0.6));
  const v = lerp(g, value, x, { t: unary(g, 'sigmoid', product(inner, 'v2')) });
  const kk = l2Norm(g, mul(g, key, vector('k_k')), { size: headSize, epsilon: 1e-12 });
  const k = lerp(g, key, mul(g, key, rate), { t: vector('k_a') });
  const state = g.state('wkv', 'f32', g.shape.slots, WIDTH * headSize);
  const mixed = wkv7(g, { r, w, k, v, kk, a: rate }, { state, headSize });
  const norm = { size: headSize, weight: vector('gn'), bias: vector('gn.bias'), epsilon: 64e-5 };
  const bonus = wkvBonus(g, { r, k, v }, { weight: vector('r_k'), headSize });
  const gated = mul(g, add(g, groupNorm(g, mixed, norm), bonus), gate);
  return { y: add(g, x, product(gated, 'o')), w };
}

/** A layer of RWKV-7. */
export function rwkvCase(
  of: { format: TensorFormat; headSize: number },
  name: string,
  batch: RaggedBatch,
): OpCase {
  const { format, headSize } = of;
  const names = ['r', 'k', 'v', 'w1', 'w2', 'a', 'g', 'v2', 'o'];
  return {
    op: 'layer',
    name: `rwkv layer, ${format.name}, heads of ${headSize}, ${name}`,
    batch,
    record: (g) => record(g, format, headSize),
    fill: { ...Object.fromEntries(names.map((weight) => [weight, tamed])), wkv: tamed },
    limit: { nmse: 1e-9, reason: 'f32 roundings of a whole layer' },
  };
}

/** Small heads, and heads of RWKV-7's size, for which devices may have special kernels. */
const [SMALL, WHOLE] = [32, 64];

export const RWKV_LAYER_CASES: readonly OpCase[] = [
  ...[F32, F16, BF16].flatMap((format) => [
    rwkvCase(
      { format, headSize: SMALL },
      'the next token',
      raggedBatch({ slices: [{ slot: 1, from: 63, count: 1 }] }),
    ),
    rwkvCase({ format, headSize: SMALL }, 'mixed', mixedBatch()),
    rwkvCase({ format, headSize: SMALL }, 'a prompt', plainBatch(33)),
  ]),
  // What a sequence leaves behind, read and written by different rows.
  ...['prompts in turns', 'few of many slots', 'prompts beside tokens'].map((name) =>
    rwkvCase({ format: F32, headSize: SMALL }, name, RECURRENT_BATCHES[name] as RaggedBatch),
  ),
  rwkvCase(
    { format: F32, headSize: SMALL },
    'few rows in turns',
    raggedBatch({
      slices: [
        { slot: 1, from: 9, count: 2 },
        { slot: 0, from: 0, count: 2 },
      ],
      interleaved: true,
    }),
  ),
  rwkvCase({ format: F32, headSize: WHOLE }, 'mixed', mixedBatch()),
  rwkvCase({ format: F32, headSize: WHOLE }, 'a prompt', plainBatch(33)),
];
