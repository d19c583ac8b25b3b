import { F32, IQ2_XS, Q4_0, Q4_K, Q6_K, Q8_0, type TensorFormat } from '../../../src/formats/index.ts';
import { add, gated, matmul } from '../../../src/ops/index.ts';
import type { OpCase } from '../contract/op-case.ts';
import { plainBatch } from '../contract/ragged-batch.ts';

const QUANTIZED = { nmse: 2e-3, reason: 'quantized activations, two matrix products deep' } as const;

/** Outputs whose blocks fill a large GPU, as waves that share activations want. */
const MANY_OUTPUTS = 21_248;

/**
 * Products that only a GPU computes in reasonable time, and that large GPUs alone compute with kernels of their own: many rows with every use
 * of the sums, and matrices of so many columns that activations take most of the shared memory.
 */
export const LARGE_PRODUCTS: readonly OpCase[] = [
  {
    ...{ op: 'layer', name: 'gate and up of 100 rows', batch: plainBatch(100), limit: QUANTIZED },
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width: 512 });
      const gate = matmul(g, x, g.weight('gate', Q4_K, MANY_OUTPUTS / 2, 512));
      return { y: gated(g, 'silu', gate, matmul(g, x, g.weight('up', Q4_K, MANY_OUTPUTS / 2, 512))) };
    },
  },
  {
    ...{ op: 'layer', name: 'gate, up and down of 60 rows', batch: plainBatch(60), limit: QUANTIZED },
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width: 160 });
      const gate = matmul(g, x, g.weight('gate', Q4_0, MANY_OUTPUTS / 2, 160));
      const hidden = gated(g, 'silu', gate, matmul(g, x, g.weight('up', Q4_0, MANY_OUTPUTS / 2, 160)));
      return { y: matmul(g, hidden, g.weight('down', Q8_0, 64, MANY_OUTPUTS / 2)) };
    },
  },
  {
    ...{ op: 'layer', name: 'a residual of 70 rows', batch: plainBatch(70), limit: QUANTIZED },
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width: 256 });
      const residual = g.input('residual', { axis: 'rows', width: MANY_OUTPUTS });
      return { y: add(g, matmul(g, x, g.weight('weight', Q6_K, MANY_OUTPUTS, 256)), residual) };
    },
  },
  {
    ...{ op: 'layer', name: 'gate and up of 14 rows', batch: plainBatch(14), limit: QUANTIZED },
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width: 256 });
      const gate = matmul(g, x, g.weight('gate', Q4_K, MANY_OUTPUTS / 2, 256));
      return { y: gated(g, 'silu', gate, matmul(g, x, g.weight('up', Q4_K, MANY_OUTPUTS / 2, 256))) };
    },
  },
  {
    ...{ op: 'layer', name: 'gate and up of 13 rows', batch: plainBatch(13), limit: QUANTIZED },
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width: 256 });
      const gate = matmul(g, x, g.weight('gate', Q6_K, MANY_OUTPUTS / 2, 256));
      return { y: gated(g, 'silu', gate, matmul(g, x, g.weight('up', Q6_K, MANY_OUTPUTS / 2, 256))) };
    },
  },
  // Tiles that do not come out even with the multiprocessors, whose rows come out even with neither.
  {
    ...{ op: 'layer', name: 'gate and up of 650 rows', batch: plainBatch(650), limit: QUANTIZED },
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width: 512 });
      const gate = matmul(g, x, g.weight('gate', Q4_K, 3400, 512));
      return { y: gated(g, 'silu', gate, matmul(g, x, g.weight('up', Q4_K, 3400, 512))) };
    },
  },
  wide(Q6_K, { outputs: 6500, columns: 768, rows: 650 }),
  dividedResidual({ outputs: 1024, columns: 2080, rows: 30 }),
  dividedResidual({ outputs: 8192, columns: 1632, rows: 62 }),
  wide(Q8_0, { outputs: MANY_OUTPUTS / 2, columns: 96, rows: 129, biased: true }),
  wide(IQ2_XS, { outputs: MANY_OUTPUTS, columns: 256, rows: 40 }),
  wide(Q4_0, { outputs: 40_010, columns: 96, rows: 2, biased: true }),
  wide(IQ2_XS, { outputs: 64, columns: 8192, rows: 4 }),
  wide(IQ2_XS, { outputs: 64, columns: 16_384, rows: 2 }),
];

/** Few outputs of many columns, which blocks divide among them; the last of these has fewer. */
function dividedResidual(of: { outputs: number; columns: number; rows: number }): OpCase {
  const { outputs, columns, rows } = of;
  return {
    ...{ op: 'layer', name: `a residual of ${rows} rows by ${columns} columns`, batch: plainBatch(rows) },
    limit: QUANTIZED,
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width: columns });
      const residual = g.input('residual', { axis: 'rows', width: outputs });
      return { y: add(g, matmul(g, x, g.weight('weight', Q4_0, outputs, columns)), residual) };
    },
  };
}

function wide(
  format: TensorFormat,
  of: { outputs: number; columns: number; rows: number; biased?: boolean },
): OpCase {
  const { outputs, columns, rows, biased = false } = of;
  return {
    op: 'matmul',
    name: `${format.name} ${outputs} x ${columns}${biased ? ' + bias' : ''}, ${rows} rows`,
    batch: plainBatch(rows),
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width: columns });
      const bias = biased ? g.weight('bias', F32, 1, outputs) : undefined;
      return { y: matmul(g, x, g.weight('weight', format, outputs, columns), bias) };
    },
  };
}
