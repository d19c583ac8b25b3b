import { BF16, F16, F32, Q8_0, type TensorFormat } from '../../../src/formats/index.ts';
import {
  add,
  attention,
  combineExperts,
  type GatedFunction,
  gated,
  gatherRows,
  type GraphBuilder,
  isBlockType,
  kvAppend,
  layerNorm,
  matmul,
  matmulExperts,
  rmsNorm,
  rope,
  ropeTable,
  routeExperts,
  slice,
  type StateType,
  type Tensor,
  type Weight,
} from '../../../src/ops/index.ts';
import { seededRandom } from '../random.ts';
import { attentionCase, fillCache, pagedCache } from './cases/attention.ts';
import { deltaLayerCase } from './cases/delta-layer.ts';
import { wkvCase } from './cases/recurrence.ts';
import { rwkvCase } from './cases/rwkv-layer.ts';
import { convCase, deltaCase, scanCase } from './cases/state-space.ts';
import { WEIGHT_FORMATS } from './cases/weight-formats.ts';
import type { OpCase } from './op-case.ts';
import { type RaggedBatch, raggedBatch, type Slice } from './ragged-batch.ts';

/** A case of random sizes, formats and batch: shapes that nobody thought of. The same for the same seed, which its name tells. */
export function randomCase(seed: number): OpCase {
  const draw = new Draw(seed);
  const of = draw.one(KINDS)(draw);
  return { ...of, name: `random ${seed}: ${of.name}` };
}

const KINDS: readonly ((draw: Draw) => OpCase)[] = [
  productCase,
  productCase,
  gatedCase,
  attendedCase,
  blockCase,
  blockCase,
  mixtureCase,
  recurrenceCase,
  recurrentLayerCase,
];

/** Rows times columns times outputs of a product: what an emulated GPU multiplies in a second. */
const MOST_PRODUCTS = 1e7;
/** Elements of a matrix: what takes a moment to make up. */
const MOST_ELEMENTS = 4e5;

class Draw {
  readonly random: () => number;

  constructor(seed: number) {
    this.random = seededRandom(Math.imul(seed + 1, 0x2545f491));
    // The first numbers of close seeds are close.
    for (let i = 0; i < 8; i++) this.random();
  }

  one<T>(of: readonly T[]): T {
    return of[Math.floor(this.random() * of.length)] as T;
  }

  often(share: number): boolean {
    return this.random() < share;
  }

  /** A whole number from `least` to `most`, small ones as often as large ones. */
  size(least: number, most: number): number {
    return Math.min(most, Math.floor(least * Math.exp(this.random() * Math.log((most + 1) / least))));
  }

  /** A width that is whole blocks of a format. */
  width(format: TensorFormat, least: number, most: number): number {
    const unit = format.blockElements === 1 ? this.one([1, 4, 8, 32]) : format.blockElements;
    return (
      unit * this.size(Math.ceil(least / unit), Math.max(Math.ceil(least / unit), Math.floor(most / unit)))
    );
  }

  /** Up to so many rows: of one sequence, or of several at different places. */
  batch(most: number): RaggedBatch {
    const spare = this.often(0.5)
      ? { rows: 0, outputs: 0 }
      : { rows: this.size(1, 9), outputs: this.size(1, 4) };
    const blockSize = this.one([1, 4, 16, 32]);
    const slices: Slice[] = [];
    let left = this.often(0.5) ? Math.min(most, this.size(1, 9)) : this.size(1, most);
    for (let slot = 0; left > 0; slot++) {
      const count = this.often(0.4) ? left : Math.min(left, this.often(0.5) ? 1 : this.size(1, left));
      const from = this.often(0.3) ? 0 : this.size(1, 700);
      slices.push({ slot, from, count, outputs: this.one(['last', 'all', 'none']) });
      left -= count;
    }
    return raggedBatch({ slices, spare, blockSize, interleaved: this.often(0.3) });
  }
}

/** Room for rows of so many products. */
function mostRows(products: number): number {
  return Math.max(1, Math.min(300, Math.floor(MOST_PRODUCTS / products)));
}

function roomOf({ rows, shape }: RaggedBatch): string {
  return `${rows} of ${shape.rows} rows`;
}

function productCase(draw: Draw): OpCase {
  const format = draw.one(WEIGHT_FORMATS);
  const columns = draw.width(format, 1, 16_000);
  const outputs = draw.size(1, Math.ceil(MOST_ELEMENTS / columns));
  const batch = draw.batch(mostRows(columns * outputs));
  const biased = draw.often(0.3);
  return {
    op: 'matmul',
    name: `${format.name} ${outputs} x ${columns}${biased ? ' + bias' : ''}, ${roomOf(batch)}`,
    batch,
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width: columns });
      const bias = biased ? g.weight('bias', F32, 1, outputs) : undefined;
      return { y: matmul(g, x, g.weight('weight', format, outputs, columns), bias) };
    },
    ...(outputs * batch.rows < 64 && { limit: { nmse: 0.1, reason: 'so few sums may nearly cancel' } }),
  };
}

const GATES: readonly GatedFunction[] = ['silu', 'gelu', 'relu', 'swiglu_oai'];

/** A norm, gate and up, and what is added to a sum. */
function gatedCase(draw: Draw): OpCase {
  const [format, second] = [draw.one(WEIGHT_FORMATS), draw.one(WEIGHT_FORMATS)];
  const width = draw.width(format, 32, 12_000);
  const hidden = draw.width(second, 32, MOST_ELEMENTS / width);
  const batch = draw.batch(mostRows(width * hidden));
  const of = {
    gate: draw.one(GATES),
    joined: draw.often(0.3),
    normed: draw.often(0.7),
    biased: draw.often(0.2),
  };
  const kinds = [of.gate, of.joined && 'joined', of.normed && 'normed', of.biased && 'biased'].filter(
    Boolean,
  );
  return {
    op: 'layer',
    name: `${format.name} and ${second.name}, ${width} and ${hidden} wide, ${kinds.join(', ')}, ${roomOf(batch)}`,
    batch,
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width });
      return { y: feedForward(g, x, { format, second, width, hidden, ...of }) };
    },
    deviation: tamed,
    limit: { nmse: 2e-3, reason: 'activations are quantized before each of two products' },
  };
}

interface FeedForwardShape {
  readonly format: TensorFormat;
  readonly second: TensorFormat;
  readonly width: number;
  readonly hidden: number;
  readonly gate: GatedFunction;
  readonly joined: boolean;
  readonly normed: boolean;
  readonly biased: boolean;
}

function feedForward(g: GraphBuilder, x: Tensor, of: FeedForwardShape): Tensor {
  const { format, second, width, hidden } = of;
  const bias = (name: string, count: number) => (of.biased ? g.weight(name, F32, 1, count) : undefined);
  const read = of.normed ? rmsNorm(g, x, g.weight('ffn_norm', F32, 1, width), 1e-5) : x;
  const product = (name: string, count: number) =>
    matmul(g, read, g.weight(name, format, count, width), bias(`${name}_bias`, count));
  const both = of.joined ? product('ffn_both', 2 * hidden) : undefined;
  const gate = both ? slice(g, both, { offset: 0, width: hidden }) : product('ffn_gate', hidden);
  const up = both ? slice(g, both, { offset: hidden, width: hidden }) : product('ffn_up', hidden);
  const down = g.weight('ffn_down', second, width, hidden);
  return add(g, x, matmul(g, gated(g, of.gate, gate, up), down, bias('ffn_down_bias', width)));
}

/** Of matrices that keep the size of what they multiply. */
function tamed({ rows, columns }: Weight): number {
  return rows === 1 ? 1 : 1 / Math.sqrt(columns);
}

const STATE_TYPES: readonly StateType[] = ['f32', 'f16', 'f16', 'q8_0', 'q4_0', 'q5_1'];

function attendedCase(draw: Draw): OpCase {
  const type = draw.one(STATE_TYPES);
  const valueType = isBlockType(type) && draw.often(0.4) ? draw.one(STATE_TYPES) : type;
  const kvHeads = draw.size(1, 8);
  const heads = kvHeads * draw.size(1, 12);
  const keySize = draw.one([32, 64, 64, 96, 128, 128, 160, 192, 256]);
  const valueSize = draw.often(0.8) ? keySize : draw.one([32, 64, 96, 128]);
  const batch = draw.batch(Math.max(1, Math.min(150, Math.floor(2e6 / (heads * keySize * 30)))));
  const window = draw.often(0.3) ? draw.size(1, 300) : undefined;
  const softCap = draw.often(0.2) ? 5 : undefined;
  const hasSinks = draw.often(0.2);
  const alibiBias = softCap === undefined && draw.often(0.15) ? 8 : undefined;
  const kinds = [
    window !== undefined && `window of ${window}`,
    softCap !== undefined && 'soft cap',
    hasSinks && 'sinks',
    alibiBias !== undefined && 'ALiBi',
  ].filter((kind) => kind !== false);
  return attentionCase([`values of ${valueSize}`, ...kinds, roomOf(batch)].join(', '), batch, {
    ...{ heads, kvHeads, keySize, valueSize, type, valueType, hasSinks },
    ...(window !== undefined && { window }),
    ...(softCap !== undefined && { softCap }),
    ...(alibiBias !== undefined && { alibiBias }),
  });
}

/** A block of a transformer and its head. */
function blockCase(draw: Draw): OpCase {
  const formats = {
    q: draw.one(WEIGHT_FORMATS),
    v: draw.one(WEIGHT_FORMATS),
    output: draw.one(WEIGHT_FORMATS),
    gate: draw.one(WEIGHT_FORMATS),
    down: draw.one(WEIGHT_FORMATS),
  };
  if (draw.often(0.5)) formats.v = formats.q;
  const blocks = Math.max(...Object.values(formats).map(({ blockElements }) => blockElements));
  const headSize = draw.one([32, 64, 64, 80, 96, 128, 128, 256]);
  const kvHeads = draw.size(1, 4);
  const heads = wholeBlocks(kvHeads * draw.size(1, 6), headSize, blocks, kvHeads);
  const width = blocks * draw.size(1, Math.max(1, Math.floor(3000 / blocks)));
  const hidden = blocks * draw.size(1, Math.max(1, Math.floor(MOST_ELEMENTS / width / blocks)));
  const type = headSize % 32 === 0 ? draw.one(STATE_TYPES) : 'f16';
  const batch = draw.batch(Math.min(140, mostRows(width * (hidden + 2 * heads * headSize))));
  const of = {
    gate: draw.one(GATES),
    joined: draw.often(0.3),
    normed: true,
    biased: draw.often(0.2),
    headNorms: draw.often(0.3),
    biases: draw.often(0.3),
    rotated: draw.often(0.7) ? headSize : Math.min(headSize, draw.one([16, 32])),
    pairs: draw.one(['neox', 'interleaved'] as const),
    layerNormed: draw.often(0.2),
    attached: draw.often(0.3),
  };
  const kv = kvHeads * headSize;
  const kinds = [
    of.gate,
    of.pairs,
    `${of.rotated} rotated`,
    ...(['joined', 'biased', 'headNorms', 'biases', 'layerNormed', 'attached'] as const).filter(
      (kind) => of[kind],
    ),
  ];
  const names = Object.values(formats).map(({ name }) => name);
  return {
    op: 'layer',
    name: `block of ${width}, ${heads}/${kvHeads} heads of ${headSize}, ${hidden} hidden, ${names.join(' ')}, ${type}, ${kinds.join(', ')}, ${roomOf(batch)}`,
    batch,
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width });
      const cache = pagedCache(g, batch, { type, keys: kv, values: kv });
      const table = ropeTable(g, { dimensions: of.rotated, base: 10_000, scaling: { kind: 'none' } });
      const weight = g.weight('attn_norm', F32, 1, width);
      const normed = of.layerNormed
        ? layerNorm(g, x, { weight, bias: g.weight('attn_norm_bias', F32, 1, width), epsilon: 1e-5 })
        : rmsNorm(g, x, weight, 1e-5);
      const product = (name: string, format: TensorFormat, count: number) =>
        matmul(
          g,
          normed,
          g.weight(name, format, count, width),
          of.biases ? g.weight(`${name}_bias`, F32, 1, count) : undefined,
        );
      const turned = (name: string, count: number) => {
        const read = product(name, formats.q, count * headSize);
        const own = of.headNorms ? rmsNorm(g, read, g.weight(`${name}_norm`, F32, 1, headSize), 1e-6) : read;
        return rope(g, own, { table, headSize, pairs: of.pairs });
      };
      const q = turned('attn_q', heads);
      kvAppend(g, cache, turned('attn_k', kvHeads), product('attn_v', formats.v, kv));
      const attended = attention(g, q, cache, {
        ...{ heads, kvHeads, keySize: headSize, valueSize: headSize, scale: 1 / Math.sqrt(headSize) },
      });
      const inner = add(
        g,
        matmul(g, attended, g.weight('attn_output', formats.output, width, heads * headSize)),
        x,
      );
      const y = feedForward(g, inner, { format: formats.gate, second: formats.down, width, hidden, ...of });
      if (!of.attached) return { y };
      const last = rmsNorm(g, gatherRows(g, y), g.weight('output_norm', F32, 1, width), 1e-5);
      return { y, logits: matmul(g, last, g.weight('output', formats.v, 97, width)) };
    },
    fill: {
      keys: fillCache(batch, kv),
      values: fillCache(batch, kv),
    },
    deviation: tamed,
    limit: {
      nmse: type === 'q4_0' || type === 'q5_1' ? 3e-2 : 4e-3,
      reason:
        'quantized activations, five matrix products deep, and what is cached of them is rounded once more',
    },
  };
}

/** The least number of heads from `heads` on whose values are whole blocks, and which the key heads divide. */
function wholeBlocks(heads: number, headSize: number, blocks: number, kvHeads: number): number {
  for (let count = Math.ceil(heads / kvHeads) * kvHeads; ; count += kvHeads)
    if ((count * headSize) % blocks === 0) return count;
}

/** Experts with their router, whose results are added to what they read. */
function mixtureCase(draw: Draw): OpCase {
  const [format, second] = [draw.one(WEIGHT_FORMATS), draw.one(WEIGHT_FORMATS)];
  const blocks = Math.max(32, format.blockElements, second.blockElements);
  const count = draw.size(1, 40);
  const width = blocks * draw.size(1, Math.max(1, Math.floor(1500 / blocks)));
  const hidden = blocks * draw.size(1, Math.max(1, Math.floor(MOST_ELEMENTS / count / width / blocks)));
  const topK = draw.size(1, Math.min(count, 10));
  const batch = draw.batch(Math.min(150, mostRows(3 * topK * width * hidden)));
  const of = {
    gate: draw.one(['silu', 'gelu', 'swiglu_oai'] as const),
    joined: draw.often(0.3),
    sigmoid: draw.often(0.3),
    biased: draw.often(0.2),
    shared: draw.often(0.3),
  };
  const kinds = [of.gate, ...(['joined', 'sigmoid', 'biased', 'shared'] as const).filter((kind) => of[kind])];
  return {
    op: 'layer',
    name: `${topK} of ${count} experts, ${width} and ${hidden} wide, ${format.name} and ${second.name}, ${kinds.join(', ')}, ${roomOf(batch)}`,
    batch,
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width });
      const normed = rmsNorm(g, x, g.weight('norm', F32, 1, width), 1e-5);
      const rule = {
        topK,
        gate: of.sigmoid ? 'sigmoid' : 'softmax',
        normalized: true,
        scale: 1.5,
        groups: 1,
        topKGroups: 1,
      } as const;
      // Chosen by numbers that are the same on every device: rounding may exchange two experts.
      const logits = g.input('logits', { axis: 'rows', width: count });
      const { expertIds, routingWeights } = routeExperts(g, logits, rule);
      const product = (read: Tensor, name: string, outputs: number) =>
        matmulExperts(g, read, {
          expertIds,
          weight: g.weight(
            name,
            read === normed ? format : second,
            count * outputs,
            read === normed ? width : hidden,
          ),
          outputs,
          bias: of.biased ? g.weight(`${name}_bias`, F32, count, outputs) : undefined,
        });
      const both = of.joined ? product(normed, 'ffn_both', 2 * hidden) : undefined;
      const half = (offset: number) =>
        slice(g, both as Tensor, { segmentWidth: hidden, stride: 2 * hidden, width: topK * hidden, offset });
      const [gate, up] = both
        ? [half(0), half(hidden)]
        : [product(normed, 'ffn_gate', hidden), product(normed, 'ffn_up', hidden)];
      const mixed = combineExperts(
        g,
        product(gated(g, of.gate, gate, up), 'ffn_down', width),
        routingWeights,
      );
      const sum = add(g, x, mixed);
      if (!of.shared) return { y: sum };
      const common = gated(
        g,
        of.gate,
        matmul(g, normed, g.weight('shared_gate', format, hidden, width)),
        matmul(g, normed, g.weight('shared_up', format, hidden, width)),
      );
      return { y: add(g, sum, matmul(g, common, g.weight('shared_down', second, width, hidden))) };
    },
    deviation: tamed,
    limit: { nmse: 2e-3, reason: 'activations are quantized before each of two products' },
  };
}

function recurrenceCase(draw: Draw): OpCase {
  const batch = draw.batch(150);
  const name = roomOf(batch);
  const groups = draw.size(1, 3);
  const heads = groups * draw.size(1, 4);
  const stateSize = draw.one([16, 32, 64, 128]);
  return draw.one([
    () => {
      const of = { width: draw.size(1, 900), taps: draw.size(2, 5), bias: draw.often(0.5) };
      return convCase(name, { ...of, ...(draw.often(0.5) && { fn: 'silu' }) }, batch);
    },
    () => {
      const of = {
        heads,
        keyHeads: groups,
        keySize: draw.one([16, 32, 64, 128]),
        valueSize: 8 * draw.size(1, 16),
      };
      const keyOrder = draw.one(['tiled', 'interleaved'] as const);
      return deltaCase(name, of, { keyOrder, decays: draw.one(['head', 'channel']) }, batch);
    },
    () => scanCase(name, { heads: 8 * heads, headSize: 1, stateSize: 16, groups: 1, rates: 16 }, batch),
    () =>
      scanCase(
        name,
        { heads, headSize: 4 * draw.size(1, 25), stateSize, groups, rates: draw.one([0, 1]) },
        batch,
      ),
    () => wkvCase(name, heads, draw.one([32, 64]), batch),
  ])();
}

function recurrentLayerCase(draw: Draw): OpCase {
  const batch = draw.batch(60);
  const headSize = draw.one([32, 64]);
  const isRwkv = draw.often(0.5);
  if (isRwkv) return rwkvCase({ format: draw.one([F32, F16, BF16]), headSize }, roomOf(batch), batch);
  return deltaLayerCase(draw.one([F32, F16, Q8_0]), roomOf(batch), headSize, batch);
}
