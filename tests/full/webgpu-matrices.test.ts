import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { GpuTarget } from '../../src/devices/webgpu/gpu-target.ts';
import { SUBGROUP_MATRICES } from '../../src/devices/webgpu/kernels/library/matrices.ts';
import { type Loop, loopFor } from '../../src/devices/webgpu/kernels/library/loop.ts';
import { WEIGHT_HALVES } from '../../src/devices/webgpu/kernels/weight-halves.ts';
import { moduleText } from '../../src/devices/webgpu/launching/kernel-module.ts';
import { accessesOf } from '../../src/devices/webgpu/launching/launch.ts';
import { lowerGraph } from '../../src/devices/webgpu/lowering/lower-graph.ts';
import { formatNamed } from '../../src/formats/index.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import { ATTENTION_CASES } from '../support/contract/cases/attention.ts';
import { EXPERT_CASES } from '../support/contract/cases/experts.ts';
import { LAYER_CASES } from '../support/contract/cases/layer.ts';
import { MATMUL_CASES } from '../support/contract/cases/matmul.ts';
import { RWKV_LAYER_CASES } from '../support/contract/cases/rwkv-layer.ts';
import { checkIsolation, ISOLATION_CASES } from '../support/contract/isolation.ts';
import { checkCase } from '../support/contract/operators.ts';
import { openWithEmulatedMatrices, openWithFewBuffers } from '../support/emulated-matrices.ts';
import { openNullGpu } from '../support/null-gpu.ts';
import { NO_SOFTWARE_GPU } from '../support/software-gpu.ts';
import { syntheticGraphs, syntheticModel } from '../support/synthetic-graphs.ts';
import { namedLike } from '../support/named.ts';

describe('subgroup matrices on WebGPU', { skip: NO_SOFTWARE_GPU }, () => {
  test('their kernels compute what the operators mean, the matrices emulated', async () => {
    await using device = await openWithEmulatedMatrices();
    const cases = [
      ...namedLike(MATMUL_CASES, /^Q.*, 33 rows/, /^(?:MXFP4|NVFP4|IQ1_M|IQ3_S|Q1_0) 37 x/),
      ...namedLike(
        LAYER_CASES,
        /^llama layer, Q8_0, f16 cache, \w+, (17|101) rows/,
        /^results that are outputs/,
      ),
      ...namedLike(
        EXPERT_CASES,
        /^Q4_0 3 of .* 17 rows/,
        /^Q4_0 3 of .* 33 rows/,
        /^mixture .* Q4_0, 9 rows/,
      ),
      ...namedLike(ATTENTION_CASES, /prompts/, /in turns/),
    ];
    for (const of of cases) await checkCase(device, of, {});
    for (const of of ISOLATION_CASES) await checkIsolation(device, of);
  });

  test('kernels bind no more buffers than there are', async () => {
    await using device = await openWithFewBuffers();
    const cases = namedLike(RWKV_LAYER_CASES, /F16, .* the next token/, /F32, heads of 64/);
    for (const of of cases) await checkCase(device, of, {});
  });

  for (const { rows, outputs, depth } of [
    { rows: 16, outputs: 16, depth: 16 },
    { rows: 8, outputs: 16, depth: 16 },
    { rows: 8, outputs: 8, depth: 8 },
  ]) {
    test(`Dawn takes every kernel over matrices of ${rows} x ${outputs} x ${depth}`, async () => {
      const { gpu, device } = await openNullGpu(FEATURES);
      const matrices = {
        ...{ rows, outputs, depth, lanes: 32 },
        ...{ text: SUBGROUP_MATRICES, decodeText: WEIGHT_HALVES },
      };
      const texts = await kernelTexts({ ...LARGE, matrices });
      assert.ok([...texts].filter((code) => code.includes('subgroup_matrix')).length >= 8);
      for (const code of texts) {
        device.pushErrorScope('validation');
        device.createShaderModule({ code });
        assert.equal((await device.popErrorScope())?.message, undefined);
      }
      device.destroy();
      assert.ok(gpu);
    });
  }
});

const FEATURES = ['subgroups', 'shader-f16', 'chromium-experimental-subgroup-matrix'];

test('loops over known counts are written out for GPUs, and stay loops for processors', () => {
  const nested = (loop: Loop) => loop('i', 2, (i) => loop('j', 2, (j) => `f(${i}, ${j});`));
  const written = nested(loopFor({ unroll: true }))
    .split('\n')
    .join('');
  assert.equal(written, '{{f(0u, 0u);}{f(0u, 1u);}}{{f(1u, 0u);}{f(1u, 1u);}}');
  const looped = nested(loopFor({ unroll: false }));
  assert.equal(looped, 'for (var i = 0u; i < 2u; i++) {for (var j = 0u; j < 2u; j++) {f(i, j);}}');
});

/** A large GPU. */
const LARGE: GpuTarget = {
  lanes: 32,
  packedDot: true,
  timestamps: false,
  nativeHalves: true,
  unroll: true,
  threads: 256,
  workgroupBytes: 48 << 10,
  bindingBytes: 1 << 30,
  storageBindings: 16,
  uniformBytes: 64 << 10,
  gridSize: 65535,
};

/** A cache whose keys and values are decoded each by its own type. */
const APART = { keys: 'q4_0', values: 'q5_1' } as const;

/** The texts of a layer's kernels in several formats, for some rows and many. */
async function kernelTexts(target: GpuTarget): Promise<Set<string>> {
  const texts = new Set<string>();
  const shape = { ...syntheticShape('llama-2-7b'), layers: 1 };
  for (const name of ['Q4_0', 'Q8_0', 'Q4_K', 'Q6_K', 'IQ4_XS', 'Q2_K', 'Q3_K', 'Q5_1']) {
    const format = formatNamed(name);
    assert.ok(format);
    const model = await syntheticModel(shape, format);
    const cacheTypes = name === 'Q4_0' ? (['f16', 'q8_0', APART] as const) : (['f16'] as const);
    for (const [rows, cacheType] of [64, 512].flatMap((count) =>
      cacheTypes.map((type) => [count, type] as const),
    )) {
      const graphs = syntheticGraphs(model, {
        shape: { rows, outputs: 1, slots: 1, blocksPerSlot: 128 },
        ...{ blocks: 128, cacheType, context: 4096, tokens: 1, alternatives: 0 },
      });
      for (const { graph } of graphs.layers) {
        for (const { module, args } of lowerGraph(graph, target).templates) {
          texts.add(
            moduleText(
              module,
              accessesOf(
                module,
                args.map(({ of }) => of),
              ),
            ),
          );
        }
      }
    }
  }
  return texts;
}
