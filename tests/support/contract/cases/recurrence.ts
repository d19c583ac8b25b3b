import { F16, F32 } from '../../../../src/formats/index.ts';
import {
  type GraphBuilder,
  groupNorm,
  l2Norm,
  MIN_DECAY,
  lerp,
  tokenShift,
  wkv7,
  wkvBonus,
} from '../../../../src/ops/index.ts';
import type { Elements, OpCase } from '../op-case.ts';
import { mixedBatch, plainBatch, type RaggedBatch, raggedBatch } from '../ragged-batch.ts';

const rows = (g: GraphBuilder, name: string, width: number) => g.input(name, { axis: 'rows', width });

/** Slices of sequences that start, continue, and pause. */
export const RECURRENT_BATCHES: Readonly<Record<string, RaggedBatch>> = {
  mixed: mixedBatch(),
  'a prompt': plainBatch(33),
  'the next token': raggedBatch({ slices: [{ slot: 1, from: 63, count: 1 }] }),
  'prompts side by side': raggedBatch({
    slices: [
      { slot: 1, from: 0, count: 5 },
      { slot: 0, from: 7, count: 3 },
    ],
  }),
  'prompts in turns': raggedBatch({
    slices: [
      { slot: 1, from: 0, count: 9 },
      { slot: 0, from: 7, count: 6 },
    ],
    interleaved: true,
  }),
  'few of many slots': raggedBatch({
    slices: [
      { slot: 9, from: 40, count: 1 },
      { slot: 2, from: 0, count: 1 },
      { slot: 6, from: 5, count: 3 },
    ],
    interleaved: true,
  }),
  'prompts beside tokens': raggedBatch({
    slices: [
      { slot: 3, from: 40, count: 1 },
      { slot: 1, from: 9, count: 37 },
      { slot: 2, from: 0, count: 18 },
      { slot: 0, from: 3, count: 1 },
    ],
  }),
};

function shiftCase(name: string, width: number): OpCase {
  const batch = RECURRENT_BATCHES[name] as RaggedBatch;
  return {
    op: 'tokenShift',
    name: `${name}, ${width} wide`,
    batch,
    record: (g) => ({
      y: tokenShift(g, rows(g, 'x', width), g.state('last', 'f32', batch.shape.slots, width)),
    }),
  };
}

function fillShares(elements: Elements, random: () => number): void {
  for (let i = 0; i < elements.length; i++) elements[i] = random();
}

function fillDecays(elements: Elements, random: () => number): void {
  for (let i = 0; i < elements.length; i++) elements[i] = MIN_DECAY + (1 - MIN_DECAY) * random();
}

/** RWKV-7's recurrence of a batch of this name, or of another one. */
export function wkvCase(
  name: string,
  heads: number,
  headSize: number,
  batch = RECURRENT_BATCHES[name] as RaggedBatch,
): OpCase {
  const width = heads * headSize;
  return {
    op: 'wkv7',
    name: `${name}, ${heads} x ${headSize}`,
    batch,
    record: (g) => {
      const [r, w, k, v, a] = ['r', 'w', 'k', 'v', 'a'].map((operand) => rows(g, operand, width));
      const kk = l2Norm(g, rows(g, 'kk', width), { size: headSize, epsilon: 1e-12 });
      const state = g.state('state', 'f32', batch.shape.slots, width * headSize);
      const operands = { r, w, k, v, kk, a } as Parameters<typeof wkv7>[1];
      return { y: wkv7(g, operands, { state, headSize }) };
    },
    fill: { w: fillDecays, a: fillShares },
  };
}

function bonusCase(heads: number, headSize: number): OpCase {
  const width = heads * headSize;
  return {
    op: 'wkvBonus',
    name: `${heads} x ${headSize}`,
    batch: mixedBatch(),
    record: (g) => {
      const operands = { r: rows(g, 'r', width), k: rows(g, 'k', width), v: rows(g, 'v', width) };
      return { y: wkvBonus(g, operands, { weight: g.weight('weight', F32, 1, width), headSize }) };
    },
  };
}

function lerpCase(width: number, row: number | undefined): OpCase {
  return {
    op: 'lerp',
    name: row === undefined ? `${width} wide, three tensors` : `${width} wide, row ${row} of a weight`,
    batch: mixedBatch(),
    record: (g) => {
      const t =
        row === undefined ? rows(g, 't', width) : g.weight('t', width % 2 ? F32 : F16, row + 2, width);
      return { y: lerp(g, rows(g, 'a', width), rows(g, 'b', width), { t, row: row ?? 0 }) };
    },
  };
}

function normCases(width: number, size: number): OpCase[] {
  return [
    {
      op: 'groupNorm',
      name: `${width} wide by ${size}`,
      batch: mixedBatch(),
      record: (g) => {
        const weight = g.weight('weight', F32, 1, width);
        const bias = g.weight('bias', F32, 1, width);
        return { y: groupNorm(g, rows(g, 'x', width), { size, weight, bias, epsilon: 64e-5 }) };
      },
    },
    {
      op: 'l2Norm',
      name: `${width} wide by ${size}`,
      batch: mixedBatch(),
      record: (g) => ({ y: l2Norm(g, rows(g, 'x', width), { size, epsilon: 1e-12 }) }),
    },
    {
      op: 'l2Norm',
      name: `${width} wide by ${size}, by the mean square`,
      batch: mixedBatch(),
      record: (g) => ({ y: l2Norm(g, rows(g, 'x', width), { by: 'rms', size, epsilon: 0.1 }) }),
    },
  ];
}

const zeros: OpCase = {
  op: 'l2Norm',
  name: 'zeros',
  batch: plainBatch(2),
  record: (g) => ({ y: l2Norm(g, rows(g, 'x', 64), { size: 32, epsilon: 1e-12 }) }),
  fill: { x: (elements) => elements.fill(0) },
};

export const RECURRENCE_CASES: readonly OpCase[] = [
  ...Object.keys(RECURRENT_BATCHES).flatMap((name) => [
    shiftCase(name, 64),
    shiftCase(name, 300),
    wkvCase(name, 2, 64),
  ]),
  wkvCase('mixed', 3, 16),
  wkvCase('a prompt', 1, 128),
  bonusCase(2, 64),
  bonusCase(3, 16),
  ...[33, 128].flatMap((width) => [lerpCase(width, undefined), lerpCase(width, 0), lerpCase(width, 4)]),
  ...normCases(128, 64),
  ...normCases(120, 20),
  ...normCases(64, 64),
  zeros,
];
