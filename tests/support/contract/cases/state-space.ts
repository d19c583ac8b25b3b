import { F16, F32 } from '../../../../src/formats/index.ts';
import {
  type Activation,
  causalConv,
  gatedDelta,
  type GatedDeltaShape,
  type GraphBuilder,
  selectiveScan,
} from '../../../../src/ops/index.ts';
import type { Elements, OpCase } from '../op-case.ts';
import { type RaggedBatch, raggedBatch } from '../ragged-batch.ts';
import { RECURRENT_BATCHES } from './recurrence.ts';

const rows = (g: GraphBuilder, name: string, width: number) => g.input(name, { axis: 'rows', width });
/** Rows of several chunks, of a sequence that has begun before, and of one that begins. */
const LONG_PROMPTS = raggedBatch({
  slices: [
    { slot: 1, from: 3, count: 150 },
    { slot: 0, from: 0, count: 70 },
    { slot: 2, from: 9, count: 2 },
  ],
});

/** Rows that end at borders of chunks, begin behind one, and cross several of them from saved states on. */
const BORDERS = raggedBatch({
  slices: [
    { slot: 2, from: 31, count: 98 },
    { slot: 3, from: 200, count: 1 },
    { slot: 0, from: 64, count: 32 },
    { slot: 1, from: 0, count: 129 },
  ],
});

const LONG_BATCHES: Readonly<Record<string, RaggedBatch>> = {
  'long prompts': LONG_PROMPTS,
  borders: BORDERS,
};
const batchOf = (name: string) => (LONG_BATCHES[name] ?? RECURRENT_BATCHES[name]) as RaggedBatch;

/** A causal convolution of a batch of this name, or of another one. */
export function convCase(
  name: string,
  of: { width: number; taps: number; bias?: boolean; fn?: Activation },
  batch = batchOf(name),
): OpCase {
  const { width, taps, bias, fn } = of;
  return {
    op: 'causalConv',
    name: `${name}, ${width} x ${taps}${bias ? ', bias' : ''}${fn ? `, ${fn}` : ''}`,
    batch,
    record: (g) => ({
      y: causalConv(g, rows(g, 'x', width), {
        weight: g.weight('weight', width % 2 ? F16 : F32, width, taps),
        ...(bias && { bias: g.weight('bias', F32, 1, width) }),
        ...(fn && { fn }),
        last: g.state('last', 'f32', batch.shape.slots, (taps - 1) * width),
      }),
    }),
  };
}

function fillShares(elements: Elements, random: () => number): void {
  for (let i = 0; i < elements.length; i++) elements[i] = random();
}

/** From decays that forget everything at once to those that forget nothing. */
function fillLogarithms(elements: Elements, random: () => number): void {
  for (let i = 0; i < elements.length; i++) elements[i] = i % 17 === 0 ? -200 * random() : -2 * random() ** 3;
}

function fillRates(elements: Elements, random: () => number): void {
  for (let i = 0; i < elements.length; i++) elements[i] = -16 * random();
}

type Heads = Pick<GatedDeltaShape, 'heads' | 'keyHeads' | 'keySize' | 'valueSize'>;

/** A gated delta rule of a batch of this name, or of another one. */
export function deltaCase(
  name: string,
  of: Heads,
  {
    keyOrder = 'tiled',
    decays = 'head',
  }: { keyOrder?: 'tiled' | 'interleaved'; decays?: 'head' | 'channel' } = {},
  batch = batchOf(name),
): OpCase {
  const { heads, keyHeads, keySize, valueSize } = of;
  return {
    op: 'gatedDelta',
    name: `${name}, ${heads} on ${keyHeads} in ${keyOrder}, ${valueSize} x ${keySize}, a decay a ${decays}`,
    batch,
    record: (g) => {
      const operands = {
        q: rows(g, 'q', keyHeads * keySize),
        k: rows(g, 'k', keyHeads * keySize),
        v: rows(g, 'v', heads * valueSize),
        decay: rows(g, 'decay', heads * (decays === 'head' ? 1 : keySize)),
        beta: rows(g, 'beta', heads),
      };
      const state = g.state('state', 'f32', batch.shape.slots, heads * valueSize * keySize);
      const shape = { ...of, keyOrder, lengthEpsilon: 1e-6, scale: keySize ** -0.5 };
      return { y: gatedDelta(g, operands, { ...shape, state }) };
    },
    fill: { decay: fillLogarithms, beta: fillShares },
  };
}

interface ScanSizes {
  readonly heads: number;
  readonly headSize: number;
  readonly stateSize: number;
  readonly groups: number;
  /** Of a head: one, or one for each element; 0 if rows give the factors. */
  readonly rates: number;
}

/** A selective scan of a batch of this name, or of another one. */
export function scanCase(name: string, of: ScanSizes, batch = batchOf(name)): OpCase {
  const { heads, headSize, stateSize, groups, rates } = of;
  return {
    op: 'selectiveScan',
    name: `${name}, ${heads} x ${headSize} in ${groups}, states of ${stateSize}, rates of ${rates}`,
    batch,
    record: (g) => {
      const operands = {
        x: rows(g, 'x', heads * headSize),
        b: rows(g, 'b', groups * stateSize),
        c: rows(g, 'c', groups * stateSize),
      };
      const rated = () => ({
        dt: rows(g, 'dt', heads),
        a: g.weight('a', F32, heads, rates),
        d: rates === 1 ? g.weight('d', F32, heads, 1) : g.weight('d', F32, 1, heads),
      });
      const changes = rates === 0 ? { decay: rows(g, 'decay', groups * stateSize) } : rated();
      const state = g.state('state', 'f32', batch.shape.slots, heads * headSize * stateSize);
      return {
        y: selectiveScan(g, operands, { heads, headSize, stateSize, groups, ...changes, state }),
      };
    },
    fill: { dt: fillShares, decay: fillShares, a: fillRates },
  };
}

const MAMBA1 = { heads: 96, headSize: 1, stateSize: 16, groups: 1, rates: 16 };
const MAMBA2 = { heads: 4, headSize: 64, stateSize: 128, groups: 2, rates: 1 };

const RWKV6 = { heads: 2, headSize: 64, stateSize: 64, groups: 2, rates: 0 };

export const STATE_SPACE_CASES: readonly OpCase[] = [
  ...Object.keys(RECURRENT_BATCHES).flatMap((name) => [
    convCase(name, { width: 64, taps: 4, fn: 'silu' }),
    convCase(name, { width: 300, taps: 3, bias: true }),
    deltaCase(name, { heads: 4, keyHeads: 2, keySize: 128, valueSize: 128 }),
    scanCase(name, MAMBA1),
    scanCase(name, MAMBA2),
    scanCase(name, RWKV6),
  ]),
  convCase('mixed', { width: 33, taps: 2, bias: true, fn: 'silu' }),
  deltaCase('mixed', { heads: 4, keyHeads: 2, keySize: 16, valueSize: 24 }, { keyOrder: 'interleaved' }),
  deltaCase(
    'prompts beside tokens',
    { heads: 4, keyHeads: 2, keySize: 64, valueSize: 32 },
    { keyOrder: 'interleaved' },
  ),
  deltaCase('long prompts', { heads: 2, keyHeads: 1, keySize: 64, valueSize: 64 }),
  scanCase('long prompts', MAMBA2),
  scanCase('long prompts', { heads: 3, headSize: 32, stateSize: 64, groups: 1, rates: 1 }),
  scanCase('borders', MAMBA2),
  scanCase('borders', { heads: 3, headSize: 80, stateSize: 16, groups: 1, rates: 1 }),
  scanCase('prompts beside tokens', { heads: 2, headSize: 16, stateSize: 32, groups: 2, rates: 1 }),
  deltaCase('mixed', { heads: 2, keyHeads: 2, keySize: 64, valueSize: 64 }, { decays: 'channel' }),
  deltaCase('a prompt', { heads: 2, keyHeads: 2, keySize: 128, valueSize: 128 }, { decays: 'channel' }),
  deltaCase('a prompt', { heads: 1, keyHeads: 1, keySize: 256, valueSize: 20 }),
  scanCase('mixed', { heads: 6, headSize: 8, stateSize: 4, groups: 3, rates: 1 }),
  scanCase('a prompt', { heads: 3, headSize: 20, stateSize: 64, groups: 1, rates: 1 }),
  // As in Nemotron Nano and Falcon-H1.
  scanCase('mixed', { heads: 4, headSize: 80, stateSize: 128, groups: 2, rates: 1 }),
  scanCase('mixed', { heads: 2, headSize: 64, stateSize: 256, groups: 1, rates: 1 }),
];
