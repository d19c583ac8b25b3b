import assert from 'node:assert/strict';
import { BF16, F16, F32, Q4_0, Q8_0, type TensorFormat } from '../../src/formats/index.ts';
import { add, gated, matmul, scale, unary } from '../../src/ops/index.ts';
import { HIP_CUDA_KERNELS } from '../../src/devices/hip-cuda/index.ts';
import { HALF_PROMPTS } from '../support/contract/cases/layer.ts';
import { lowRankCase } from '../support/contract/cases/low-rank.ts';
import { RWKV_LAYER_CASES } from '../support/contract/cases/rwkv-layer.ts';
import { caseData } from '../support/contract/case-data.ts';
import type { OpCase } from '../support/contract/op-case.ts';
import { runCase } from '../support/contract/run-case.ts';
import { checkCase } from '../support/contract/operators.ts';
import { plainBatch } from '../support/contract/ragged-batch.ts';
import { amdTarget } from '../support/hip-cuda/amd-targets.ts';
import { caseGraph } from '../support/hip-cuda/lowered-modules.ts';
import { type Emulator, emulatedTests, withDevice } from '../support/hip-cuda/emulator.ts';
import { namedLike } from '../support/named.ts';

/** Rows from which these round activations, and products by weights of low rank for as many. */
const ROUNDS_FROM = 17;
const LOW_RANK = lowRankCase(F16, 37);

const emulated = await emulatedTests('gfx1100');

/** Of products whose activations are rounded to the weights' type; a gate's products are two, and are followed by another. */
const LIMITS: Readonly<Record<string, number>> = { F16: 2e-7, BF16: 1.2e-5 };

/** Products of a prompt, and what devices compute with them: rows, outputs and columns all differ. */
function productCase(
  format: TensorFormat,
  rows: number,
  around: 'bias' | 'residual' | 'residual inside' | 'gate' | 'feed forward' | 'function' | 'nothing',
  columns = 256,
): OpCase {
  const outputs = 96;
  return {
    op: 'layer',
    name: `${format.name}, ${rows} rows, ${around}`,
    batch: plainBatch(rows),
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width: columns });
      const weight = (name: string) => g.weight(name, format, outputs, columns);
      const bias = around === 'bias' ? g.weight('bias', F32, 1, outputs) : undefined;
      const y = matmul(g, x, weight('weight'), bias);
      if (around === 'residual') return { y: add(g, g.input('addend', { axis: 'rows', width: outputs }), y) };
      // What a graph gives out has rows of its own.
      if (around === 'residual inside') {
        const sum = add(g, g.input('addend', { axis: 'rows', width: outputs }), y);
        return { y: scale(g, sum, 2) };
      }
      if (around === 'nothing') return { y: scale(g, y, 2) };
      if (around === 'function') {
        const inner = unary(g, 'relu_squared', y);
        return { y: scale(g, matmul(g, inner, g.weight('down', format, columns, outputs)), 2) };
      }
      if (around === 'gate' || around === 'feed forward') {
        const inner = gated(g, 'silu', y, matmul(g, x, weight('up')));
        if (around === 'gate') return { y: inner };
        const sum = add(g, x, matmul(g, inner, g.weight('down', format, columns, outputs)));
        return { y: scale(g, sum, 2) };
      }
      return { y };
    },
    limit: { nmse: LIMITS[format.name] ?? 1e-4, reason: 'activations are quantized, or rounded' },
  };
}

/** A residual that the library adds itself: what the graph gives out may have unused rows. */
const FILLED: OpCase = {
  ...productCase(Q8_0, 261, 'residual'),
  name: 'Q8_0, 261 rows, residual, unused rows with it',
  unusedRows: 'any',
};

/** How many products run on the library: a gate's two matrices at once if they are decoded for it. */
const CASES: readonly (readonly [OpCase, products: number])[] = [
  [productCase(F16, 20, 'bias'), 1],
  [productCase(BF16, 20, 'residual'), 1],
  [productCase(F16, 33, 'feed forward'), 3],
  [productCase(BF16, 33, 'feed forward'), 3],
  [productCase(F16, 34, 'function'), 2],
  [productCase(BF16, 34, 'function'), 2],
  [productCase(Q8_0, 270, 'residual inside'), 1],
  [productCase(Q8_0, 260, 'residual'), 1],
  [FILLED, 1],
  [productCase(Q4_0, 256, 'bias', 160), 1],
  [productCase(Q4_0, 256, 'gate'), 1],
  [productCase(Q4_0, 258, 'feed forward'), 2],
  [productCase(F32, 70, 'nothing'), 1],
];

/** Objects of the emulated library that were not destroyed. */
function objectsOf({ platform, blas }: Emulator): number {
  return platform.ffi.open([blas]).bind('emulatorBlasObjects', 'i32', [])();
}

emulated(
  'large products run on the BLAS library, with the shapes and types that it is told',
  async (emulator) => {
    await withDevice(
      emulator,
      async (device) => {
        for (const [of, products] of CASES) {
          const before = emulator.control.calls('hipblasLtMatmul');
          await checkCase(device, of, {});
          // A shape's first product is one more: code must be loaded before a capture. Gate and up have one shape.
          const shapes = Math.min(2, products);
          const calls = emulator.control.calls('hipblasLtMatmul') - before;
          assert.equal(calls, products + shapes, of.name);
        }
        const { modules } = HIP_CUDA_KERNELS.lower(caseGraph(FILLED), amdTarget('gfx1100'));
        assert.ok(modules.every(({ file }) => file !== 'finish-product.hip'));
        assert.ok(objectsOf(emulator) > 0);
      },
      { blas: true },
    );
    assert.equal(objectsOf(emulator), 0);
  },
);

/** One product and one pair of them with what follows, and another format and number of columns. */
const COPIED = [
  productCase(Q8_0, 260, 'residual'),
  productCase(Q4_0, 256, 'bias', 160),
  productCase(Q4_0, 258, 'feed forward'),
];

/** How often launches of a graph decode weights. */
function decodings(of: OpCase): number {
  const lowered = HIP_CUDA_KERNELS.lower(caseGraph(of), { ...amdTarget('gfx1100'), blas: true });
  const launches = lowered.launches({ of: () => 0, weight: () => 0, scratch: 0 });
  return launches.filter((launch) => launch.kind === 'kernel' && launch.kernel === 'decode_f16').length;
}

emulated('by dequantized copies, prompts come to the same numbers, and no step decodes', (emulator) =>
  withDevice(
    emulator,
    async (device) => {
      for (const of of COPIED) {
        const copied: OpCase = { ...of, dequantized: true };
        const [before, after] = [
          await runCase(device, caseData(of)),
          await runCase(device, caseData(copied)),
        ];
        assert.deepEqual(after.outputs, before.outputs, of.name);
        assert.ok(decodings(of) > 0, of.name);
        assert.equal(decodings(copied), 0, of.name);
      }
    },
    { blas: true },
  ),
);

emulated('prompts by weights of 16 bits run on the library, behind tiles of attention', (emulator) =>
  withDevice(
    emulator,
    async (device) => {
      for (const of of HALF_PROMPTS) {
        const before = emulator.control.calls('hipblasLtMatmul');
        await checkCase(device, of, {});
        assert.ok(emulator.control.calls('hipblasLtMatmul') > before, of.name);
        const { modules } = HIP_CUDA_KERNELS.lower(caseGraph(of), amdTarget('gfx1100'));
        const tiles = modules.filter(({ file }) => file === 'attention-tiles.hip');
        assert.deepEqual(
          tiles.map(({ defines }) => defines['ROUNDED']),
          [1],
          of.name,
        );
      }
    },
    { blas: true },
  ),
);

emulated('products by weights of low rank are one launch each, with what follows them', (emulator) =>
  withDevice(
    emulator,
    async (device) => {
      const before = emulator.control.calls('hipblasLtMatmul');
      await checkCase(device, LOW_RANK, { roundsFrom: ROUNDS_FROM });
      assert.equal(emulator.control.calls('hipblasLtMatmul'), before);
      const lowered = HIP_CUDA_KERNELS.lower(caseGraph(LOW_RANK), amdTarget('gfx1100'));
      const tiles = lowered.modules.filter(({ file }) => file === 'element-tiles.hip');
      assert.equal(tiles.length, 2);
    },
    { blas: true },
  ),
);

emulated('interpolations that only the library multiplies are rounded where they are computed', (emulator) =>
  withDevice(
    emulator,
    async (device) => {
      for (const of of namedLike(RWKV_LAYER_CASES, /F16.*a prompt/)) {
        await checkCase(device, of, { roundsFrom: ROUNDS_FROM });
        const { modules } = HIP_CUDA_KERNELS.lower(caseGraph(of), amdTarget('gfx1100'));
        const shift = modules.find(({ file }) => file === 'shift-lerps.hip');
        assert.match(String(shift?.defines['STORES']), /rounded\(lerp/, of.name);
      }
    },
    { blas: true },
  ),
);

emulated('a product that the library refuses is a typed error', (emulator) =>
  withDevice(
    emulator,
    async (device) => {
      emulator.control.failCall('hipblasLtMatmul', 1, 7);
      const [of] = CASES[0] as (typeof CASES)[number];
      await assert.rejects(checkCase(device, of, {}), {
        code: 'DRIVER_CALL',
        message: /hipblasLtMatmul.*status 7/s,
      });
    },
    { blas: true },
  ),
);
