import { F32, Q8_0, type TensorFormat } from '../../../../src/formats/index.ts';
import {
  add,
  causalConv,
  gated,
  gatedDelta,
  type GraphBuilder,
  matmul,
  mul,
  rmsNorm,
  slice,
  type Tensor,
  unary,
} from '../../../../src/ops/index.ts';
import { normal } from '../case-data.ts';
import type { Elements, OpCase } from '../op-case.ts';
import type { RaggedBatch } from '../ragged-batch.ts';
import { RECURRENT_BATCHES } from './recurrence.ts';

const WIDTH = 256;
const HEADS = 4;
const KEY_HEADS = 2;
const TAPS = 4;

/** Weights that preserve the magnitude of activations. */
function tamed(elements: Elements, random: () => number): void {
  for (let i = 0; i < elements.length; i++) elements[i] = normal(random) / 16;
}

/** A decay's factor is negative. */
function negative(elements: Elements, random: () => number): void {
  for (let i = 0; i < elements.length; i++) elements[i] = -random();
}

/** The gated delta net of Qwen 3.5, from its norm to the residual: products of one row, slices, rates, a gated norm. */
function recordLayer(g: GraphBuilder, format: TensorFormat, headSize: number): Tensor {
  const [keys, values] = [KEY_HEADS * headSize, HEADS * headSize];
  const width = 2 * keys + values;
  const weight = (name: string, rows: number, columns = WIDTH) => g.weight(name, format, rows, columns);
  const vector = (name: string, size: number) => g.weight(name, F32, 1, size);
  const x = g.input('x', { axis: 'rows', width: WIDTH });
  const normed = rmsNorm(g, x, vector('norm', WIDTH), 1e-6);
  const projected = matmul(g, normed, weight('qkv', width));
  const gate = matmul(g, normed, weight('gate', values));
  const beta = matmul(g, normed, weight('beta', HEADS));
  const alpha = matmul(g, normed, weight('alpha', HEADS));
  const { slots } = g.shape;
  const convolved = causalConv(g, projected, {
    weight: g.weight('conv', F32, width, TAPS),
    fn: 'silu',
    last: g.state('last', 'f32', slots, (TAPS - 1) * width),
  });
  const part = (offset: number, size: number) => slice(g, convolved, { offset, width: size });
  const slowness = unary(g, 'softplus', add(g, alpha, vector('bias', HEADS)));
  const operands = {
    q: part(0, keys),
    k: part(keys, keys),
    v: part(2 * keys, values),
    decay: mul(g, slowness, vector('factor', HEADS)),
    beta: unary(g, 'sigmoid', beta),
  };
  const mixed = gatedDelta(g, operands, {
    ...{ heads: HEADS, keyHeads: KEY_HEADS, keySize: headSize, valueSize: headSize, keyOrder: 'tiled' },
    lengthEpsilon: 1e-6,
    scale: headSize ** -0.5,
    state: g.state('state', 'f32', slots, values * headSize),
  });
  const open = gated(g, 'silu', gate, rmsNorm(g, mixed, vector('head_norm', headSize), 1e-6));
  return add(g, matmul(g, open, weight('out', WIDTH, values)), x);
}

const QUANTIZED = { nmse: 2e-3, reason: 'quantized activations, two matrix products deep' } as const;
const SUMMED = { nmse: 1e-9, reason: 'f32 roundings of a whole layer' } as const;

/** A layer of Qwen 3.5 of a batch of this name, or of another one. */
export function deltaLayerCase(
  format: TensorFormat,
  name: string,
  headSize: number,
  batch = RECURRENT_BATCHES[name] as RaggedBatch,
): OpCase {
  return {
    op: 'layer',
    name: `gated delta net in ${format.name}, heads of ${headSize}, ${name}`,
    batch,
    record: (g) => ({ y: recordLayer(g, format, headSize) }),
    fill: { qkv: tamed, gate: tamed, out: tamed, factor: negative },
    limit: format === F32 ? SUMMED : QUANTIZED,
  };
}

export const DELTA_LAYER_CASES: readonly OpCase[] = [
  deltaLayerCase(F32, 'prompts beside tokens', 64),
  deltaLayerCase(Q8_0, 'the next token', 128),
  deltaLayerCase(Q8_0, 'mixed', 32),
];
