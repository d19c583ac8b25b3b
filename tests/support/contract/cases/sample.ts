import {
  DEFAULT_SAMPLING,
  maskWords,
  SAMPLING_ROW_WORDS,
  type SamplingParameters,
  sample,
  writeSamplingRow,
} from '../../../../src/ops/index.ts';
import { normal } from '../case-data.ts';
import type { OpCase } from '../op-case.ts';
import { plainBatch, raggedBatch } from '../ragged-batch.ts';

const ALTERNATIVES = 4;

const PLAIN: SamplingParameters = { ...DEFAULT_SAMPLING, temperature: 1, topK: 0, topP: 1, minP: 0 };

interface SampleSetup {
  readonly vocabulary: number;
  /** The parameters of the rows, cyclically. */
  readonly rows: readonly Partial<SamplingParameters>[];
  readonly count?: number;
  readonly logits?: (index: number, random: () => number) => number;
}

function sampleCase(name: string, { vocabulary, rows, count = 7, logits }: SampleSetup): OpCase {
  const batch = plainBatch(count);
  return {
    op: 'sample',
    name: `${name}, vocabulary of ${vocabulary}`,
    batch,
    record: (g) =>
      sample(g, {
        logits: g.input('logits', { axis: 'outputs', width: vocabulary }),
        parameters: g.input('parameters', { axis: 'outputs', width: SAMPLING_ROW_WORDS, type: 'i32' }),
        history: g.state('history', 'i32', g.shape.slots, 40),
        masks: g.state('masks', 'i32', g.shape.slots, maskWords(vocabulary)),
        alternatives: ALTERNATIVES,
      }),
    pairs: ['report'],
    fill: {
      logits: (elements, random) => {
        for (let i = 0; i < elements.length; i++) elements[i] = logits?.(i, random) ?? 3 * normal(random);
      },
      parameters: (elements) => {
        for (let i = 0; i < count; i++) {
          const row = elements.subarray(i * SAMPLING_ROW_WORDS, (i + 1) * SAMPLING_ROW_WORDS) as Int32Array;
          writeSamplingRow({ ...PLAIN, seed: 77 + i, ...rows[i % rows.length] }, row);
        }
      },
      masks: (elements, random) => {
        for (let i = 0; i < elements.length; i++)
          elements[i] = random() < 0.2 ? -1 : (random() * 2 ** 32) | 0;
      },
      history: (elements, random) => {
        for (let i = 0; i < elements.length; i++) elements[i] = Math.floor(random() * vocabulary);
      },
    },
  };
}

const CHAIN: Partial<SamplingParameters> = {
  temperature: 0.7,
  topK: 30,
  typicalP: 0.9,
  topP: 0.9,
  minP: 0.02,
  topNSigma: 2.5,
  xtcProbability: 0.4,
  xtcThreshold: 0.2,
  dynatempRange: 0.3,
  repeatPenalty: 1.2,
  frequencyPenalty: 0.3,
  presencePenalty: 0.2,
  penaltyWindow: 16,
  logProbabilities: 3,
};

const DRY: Partial<SamplingParameters> = {
  dryPenalties: new Map([
    [3, 40],
    [5, -6],
    [70, 0.5],
  ]),
};

const STAGES: readonly (readonly [string, Partial<SamplingParameters>])[] = [
  ['temperature', { temperature: 1.5 }],
  ['top-k', { topK: 5 }],
  ['top-k of more than there are', { topK: 1000 }],
  ['top-p', { topP: 0.6 }],
  ['top-p of 0', { topP: 0 }],
  ['min-p', { minP: 0.1 }],
  ['typical', { typicalP: 0.5 }],
  ['top-n-sigma', { topNSigma: 1.2 }],
  ['XTC', { xtcProbability: 1, xtcThreshold: 0.05 }],
  ['XTC by chance', { xtcProbability: 0.5, xtcThreshold: 0.1, topP: 0.9 }],
  ['XTC of fewer than two top choices', { xtcProbability: 1, xtcThreshold: 0.6 }],
  ['dynamic temperature', { temperature: 1, dynatempRange: 0.7, dynatempExponent: 1.5 }],
  ['dynamic temperature down to none', { temperature: 0.5, dynatempRange: 2, topK: 12 }],
  ['repeat penalty', { repeatPenalty: 1.8, penaltyWindow: -1, temperature: 0.5 }],
  ['frequency and presence', { frequencyPenalty: 0.8, presencePenalty: 0.5, penaltyWindow: 8 }],
  [
    'bias',
    {
      logitBias: new Map([
        [3, 6],
        [5, Number.NEGATIVE_INFINITY],
        [7, -2.5],
      ]),
    },
  ],
  ['DRY', { ...DRY }],
  ['DRY after bias and penalties', { ...DRY, logitBias: new Map([[3, 45]]), repeatPenalty: 1.5 }],
];

const sequences: OpCase = {
  ...sampleCase('several sequences', { vocabulary: 50, rows: [{}, CHAIN, { temperature: 0 }], count: 3 }),
  batch: raggedBatch({
    slices: [
      { slot: 1, from: 30, count: 1 },
      { slot: 0, from: 3, count: 5 },
      { slot: 2, from: 0, count: 4 },
    ],
    interleaved: true,
  }),
};

// Cases share one vocabulary size unless they need another: devices whose kernels are specialized for it compile them
// once.
export const SAMPLE_CASES: readonly OpCase[] = [
  ...STAGES.map(([name, parameters]) =>
    sampleCase(name, { vocabulary: 100, rows: [parameters, { ...parameters, logProbabilities: 0 }] }),
  ),
  sampleCase('greedy with ties', {
    vocabulary: 100,
    rows: [{ temperature: 0, logProbabilities: ALTERNATIVES }],
    logits: (i) => (i * 7) % 5,
  }),
  sampleCase('temperatures near 0, with ties', {
    vocabulary: 100,
    rows: [{ temperature: 1e-42 }, { temperature: 1e-42, typicalP: 0.5 }, { temperature: 2e-38, topP: 0.5 }],
    logits: (i) => (i * 7) % 5,
  }),
  sampleCase('the chain', { vocabulary: 1000, rows: [CHAIN, { ...CHAIN, typicalP: 1 }] }),
  sampleCase('defaults', { vocabulary: 32_000, rows: [DEFAULT_SAMPLING], count: 4 }),
  sampleCase('the whole vocabulary', { vocabulary: 32_000, rows: [{ topP: 0.9 }, {}], count: 4 }),
  sampleCase('masks', {
    vocabulary: 1000,
    rows: [
      { masked: true, logProbabilities: ALTERNATIVES },
      { masked: true, temperature: 0 },
      { masked: true, ...CHAIN, logitBias: new Map([[4, 9]]) },
      {},
    ],
  }),
  sampleCase('a mask of fewer tokens than a word', { vocabulary: 10, rows: [{ masked: true }, {}] }),
  sampleCase('only one token is left', {
    vocabulary: 10,
    rows: [{ logProbabilities: ALTERNATIVES }, { temperature: 0, logProbabilities: ALTERNATIVES }],
    logits: (i) => (i % 10 === 6 ? -2 : Number.NEGATIVE_INFINITY),
  }),
  // Rows with invalid logits between others, which must not be affected.
  ...(
    [
      ['a NaN', Number.NaN],
      ['an infinity', Number.POSITIVE_INFINITY],
    ] as const
  ).map(([name, value]) =>
    sampleCase(`${name} in some rows`, {
      vocabulary: 1000,
      rows: [{ logProbabilities: 2 }, { temperature: 0 }, { temperature: 0, logProbabilities: 2 }, CHAIN, {}],
      logits: (i, random) => (i % 2000 === 777 ? value : 3 * normal(random)),
    }),
  ),
  sampleCase('a NaN that a mask or a bias forbids', {
    vocabulary: 10,
    rows: [{ masked: true }, { temperature: 0, logitBias: new Map([[3, Number.NEGATIVE_INFINITY]]) }],
    logits: (i) => (i % 10 === 3 ? Number.NaN : i % 4),
  }),
  sampleCase('nothing but NaN', {
    vocabulary: 10,
    rows: [{ logProbabilities: 1 }, { temperature: 0, logProbabilities: 1 }],
    logits: () => Number.NaN,
  }),
  sampleCase('nothing but -Infinity', {
    vocabulary: 10,
    rows: [
      { logProbabilities: 1 },
      { temperature: 0, logProbabilities: 1 },
      { temperature: 0, masked: true },
    ],
    logits: () => Number.NEGATIVE_INFINITY,
  }),
  sampleCase('every token is forbidden', {
    vocabulary: 3,
    rows: [{ logProbabilities: 2 }, { temperature: 0, logProbabilities: 2 }, CHAIN, { temperature: 0 }].map(
      (row) => ({
        ...row,
        logitBias: new Map([0, 1, 2].map((id) => [id, Number.NEGATIVE_INFINITY])),
      }),
    ),
  }),
  sampleCase('one token', { vocabulary: 1, rows: [{}], count: 1 }),
  sequences,
];
