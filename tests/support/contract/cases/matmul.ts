import {
  BF16,
  F16,
  F32,
  Q4_0,
  Q4_K,
  Q5_K,
  Q6_K,
  Q8_0,
  type TensorFormat,
} from '../../../../src/formats/index.ts';
import { matmul, matmulHeads } from '../../../../src/ops/index.ts';
import type { OpCase } from '../op-case.ts';
import { fullBatch, mixedBatch, plainBatch, type RaggedBatch, raggedBatch } from '../ragged-batch.ts';
import { WEIGHT_FORMATS } from './weight-formats.ts';

interface MatmulShape {
  readonly format: TensorFormat;
  readonly columns: number;
  readonly outputs: number;
  readonly batch: RaggedBatch;
  readonly bias?: TensorFormat;
}

function matmulCase({ format, columns, outputs, batch, bias }: MatmulShape): OpCase {
  return {
    op: 'matmul',
    name: `${format.name} ${outputs} x ${columns}${bias ? ' + bias' : ''}, ${batch.rows} rows`,
    batch,
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width: columns });
      const weight = g.weight('weight', format, outputs, columns);
      return { y: matmul(g, x, weight, bias && g.weight('bias', bias, 1, outputs)) };
    },
  };
}

/** A separate matrix for each of a row's `heads` parts. */
function headsCase(heads: number, { format, columns, outputs, batch }: Omit<MatmulShape, 'bias'>): OpCase {
  return {
    op: 'matmulHeads',
    name: `${format.name} ${heads} x ${outputs} x ${columns}, ${batch.rows} rows`,
    batch,
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width: heads * columns });
      return { y: matmulHeads(g, x, g.weight('weight', format, heads * outputs, columns), heads) };
    },
  };
}

const headOutputs: OpCase = {
  op: 'matmul',
  name: 'over output rows',
  batch: mixedBatch(),
  record: (g) => {
    const x = g.input('x', { axis: 'outputs', width: 256 });
    return { y: matmul(g, x, g.weight('weight', Q6_K, 300, 256)) };
  },
};

const noOutputs: OpCase = {
  op: 'matmul',
  name: 'over output rows of which there are none',
  batch: raggedBatch({ slices: [{ slot: 0, from: 0, count: 5, outputs: 'none' }] }),
  record: (g) => {
    const x = g.input('x', { axis: 'outputs', width: 64 });
    return { y: matmul(g, x, g.weight('weight', Q8_0, 20, 64)) };
  },
};

const notFinite: OpCase = {
  op: 'matmul',
  name: 'F32, NaN and infinity stay in their rows',
  batch: plainBatch(4),
  record: (g) => {
    const x = g.input('x', { axis: 'rows', width: 40 });
    return { y: matmul(g, x, g.weight('weight', F32, 9, 40)) };
  },
  fill: {
    x: (elements, random) => {
      for (let i = 0; i < elements.length; i++) elements[i] = random() - 0.5;
      elements[45] = Number.NaN;
      elements[130] = Number.POSITIVE_INFINITY;
    },
  },
};

const MAIN = [F32, F16, BF16, Q8_0, Q4_0, Q4_K, Q5_K, Q6_K];

/** Every format with few rows and with more; the common ones over batch sizes and widths. */
export const MATMUL_CASES: readonly OpCase[] = [
  ...WEIGHT_FORMATS.map((format) => matmulCase({ format, columns: 512, outputs: 33, batch: plainBatch(2) })),
  ...WEIGHT_FORMATS.map((format) => matmulCase({ format, columns: 512, outputs: 37, batch: plainBatch(9) })),
  // Lines of one batch of loads and a part of the next.
  ...WEIGHT_FORMATS.flatMap((format) => [
    matmulCase({ format, columns: 4608, outputs: 35, batch: fullBatch(1) }),
    matmulCase({ format, columns: 1280, outputs: 35, batch: fullBatch(2) }),
  ]),
  ...MAIN.flatMap((format) =>
    [1, 3, 4, 7, 33].map((rows) =>
      matmulCase({ format, columns: 256, outputs: rows === 1 ? 261 : 18, batch: plainBatch(rows) }),
    ),
  ),
  ...[1, 2, 3, 5, 31, 100, 257].map((columns) =>
    matmulCase({ format: F32, columns, outputs: 7, batch: plainBatch(3) }),
  ),
  ...[32, 96, 160, 288].flatMap((columns) =>
    [Q8_0, Q4_0].map((format) => matmulCase({ format, columns, outputs: 12, batch: plainBatch(3) })),
  ),
  ...[1, 2, 3].map((outputs) => ({
    ...matmulCase({ format: Q4_0, columns: 64, outputs, batch: plainBatch(2) }),
    limit: { nmse: 2e-3, reason: 'so few sums may nearly cancel while their rounding does not' },
  })),
  ...[5, 9, 20, 32].flatMap((rows) =>
    [F16, BF16].map((format) =>
      matmulCase({ format, columns: 24 + 8 * rows, outputs: 72, batch: plainBatch(rows), bias: F32 }),
    ),
  ),
  ...[2, 8, 9, 64, 129].flatMap((rows) =>
    [F32, Q4_0, Q4_K].map((format) =>
      matmulCase({ format, columns: 256, outputs: 40, batch: plainBatch(rows) }),
    ),
  ),
  // So many outputs that waves may share activations.
  matmulCase({ format: Q4_0, columns: 160, outputs: 8500, batch: plainBatch(40) }),
  matmulCase({ format: Q4_K, columns: 256, outputs: 21_200, batch: plainBatch(33) }),
  matmulCase({ format: Q8_0, columns: 64, outputs: 2050, batch: plainBatch(1) }),
  matmulCase({ format: Q4_0, columns: 4096, outputs: 96, batch: plainBatch(1) }),
  matmulCase({ format: Q4_K, columns: 4096, outputs: 64, batch: plainBatch(9) }),
  matmulCase({ format: F32, columns: 2048, outputs: 64, batch: plainBatch(9) }),
  ...MAIN.map((format) => matmulCase({ format, columns: 256, outputs: 20, batch: mixedBatch(), bias: F32 })),
  matmulCase({ format: Q8_0, columns: 64, outputs: 20, batch: plainBatch(3), bias: F16 }),
  ...MAIN.flatMap((format) =>
    [1, 3, 33].map((rows) => headsCase(3, { format, columns: 256, outputs: 20, batch: plainBatch(rows) })),
  ),
  headsCase(4, { format: F32, columns: 16, outputs: 32, batch: mixedBatch() }),
  headsCase(5, { format: F16, columns: 18, outputs: 8, batch: plainBatch(70) }),
  headsCase(16, { format: Q8_0, columns: 128, outputs: 512, batch: plainBatch(2) }),
  headsCase(2, { format: Q8_0, columns: 512, outputs: 128, batch: plainBatch(70) }),
  headsCase(1, { format: Q4_0, columns: 64, outputs: 36, batch: plainBatch(9) }),
  headOutputs,
  noOutputs,
  notFinite,
];
