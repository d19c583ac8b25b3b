import { F32 } from '../../../../src/formats/index.ts';
import { type RopePairs, type RopeParameters, rope, ropeTable } from '../../../../src/ops/index.ts';
import type { OpCase } from '../op-case.ts';
import { mixedBatch, plainBatch, raggedBatch } from '../ragged-batch.ts';

const YARN = {
  kind: 'yarn',
  factor: 4,
  originalContext: 2048,
  extrapolation: 1,
  attention: 1,
  betaFast: 32,
  betaSlow: 1,
} as const;

function tableCase(name: string, parameters: RopeParameters, factors = false): OpCase {
  return {
    op: 'ropeTable',
    name,
    batch: raggedBatch({
      slices: [
        { slot: 0, from: 0, count: 5 },
        { slot: 1, from: 4095, count: 1 },
        { slot: 2, from: 130_000, count: 2 },
      ],
      blockSize: 1024,
    }),
    record: (g) => ({
      y: ropeTable(
        g,
        parameters,
        factors ? g.weight('factors', F32, 1, parameters.dimensions / 2) : undefined,
      ),
    }),
    fill: {
      factors: (elements, random) => {
        for (let i = 0; i < elements.length; i++) elements[i] = 1 + 7 * random();
      },
    },
  };
}

function turnCase(
  of: { heads: number; headSize: number; turned: number; pairs: RopePairs },
  rows = 0,
): OpCase {
  return {
    op: 'rope',
    name: `${of.heads} heads of ${of.headSize}, ${of.turned} turned, ${of.pairs}, ${rows || 'mixed'} rows`,
    batch: rows ? plainBatch(rows) : mixedBatch(),
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width: of.heads * of.headSize });
      const parameters = { dimensions: of.turned, base: 10_000, scaling: { kind: 'none' } } as const;
      const table = ropeTable(g, parameters);
      return { y: rope(g, x, { table, headSize: of.headSize, pairs: of.pairs }) };
    },
  };
}

const NONE = { kind: 'none' } as const;

export const ROPE_CASES: readonly OpCase[] = [
  tableCase('llama', { dimensions: 128, base: 10_000, scaling: NONE }),
  tableCase('two values', { dimensions: 2, base: 10_000, scaling: NONE }),
  tableCase('large base', { dimensions: 64, base: 1_000_000, scaling: NONE }),
  tableCase('linear', { dimensions: 64, base: 10_000, scaling: { kind: 'linear', factor: 8 } }),
  tableCase('factors', { dimensions: 128, base: 500_000, scaling: NONE }, true),
  tableCase('back', { dimensions: 64, base: 160_000, scaling: YARN, inverse: true }),
  tableCase('yarn', { dimensions: 128, base: 10_000, scaling: YARN }),
  tableCase('yarn with factors', { dimensions: 64, base: 10_000, scaling: YARN }, true),
  tableCase('yarn without extrapolation', {
    dimensions: 64,
    base: 10_000,
    scaling: { ...YARN, extrapolation: 0, attention: 0.7 },
  }),
  ...(['interleaved', 'neox'] as const).flatMap((pairs) => [
    turnCase({ heads: 1, headSize: 64, turned: 64, pairs }),
    turnCase({ heads: 4, headSize: 128, turned: 128, pairs }),
    turnCase({ heads: 3, headSize: 80, turned: 32, pairs }),
    turnCase({ heads: 5, headSize: 10, turned: 6, pairs }),
    turnCase({ heads: 2, headSize: 2, turned: 2, pairs }),
    ...[1, 3, 4, 7, 33].map((rows) => turnCase({ heads: 2, headSize: 48, turned: 48, pairs }, rows)),
  ]),
];
