import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GpuMatrices, GpuTarget } from '../../src/devices/webgpu/gpu-target.ts';
import { SUBGROUP_MATRICES } from '../../src/devices/webgpu/kernels/library/matrices.ts';
import { WEIGHT_HALVES } from '../../src/devices/webgpu/kernels/weight-halves.ts';
import { moduleText } from '../../src/devices/webgpu/launching/kernel-module.ts';
import { lowerGraph } from '../../src/devices/webgpu/lowering/lower-graph.ts';
import { Q4_0, Q4_K, Q8_0 } from '../../src/formats/index.ts';
import { REFUSE_COPIES } from '../support/contract/cases/experts.ts';
import { ALL_CASES } from '../support/contract/cases/index.ts';
import { selected } from '../support/contract/contract-options.ts';
import { caseGraph } from '../support/hip-cuda/lowered-modules.ts';
import { checkOneLayout, layerGraph } from '../support/layer-graphs.ts';
import { unsetInLoops } from '../support/wgsl-loops.ts';

/** A large GPU, with no more than every WebGPU has. */
const LARGE: GpuTarget = {
  lanes: 32,
  packedDot: true,
  timestamps: false,
  nativeHalves: true,
  unroll: true,
  threads: 256,
  workgroupBytes: 16 << 10,
  bindingBytes: 128 << 20,
  storageBindings: 8,
  uniformBytes: 64 << 10,
  gridSize: 65535,
};

for (const format of [Q4_0, Q4_K, Q8_0]) {
  test(`a layer in ${format.name} takes at most 7 dispatches a token`, async () => {
    const { templates } = lowerGraph(await layerGraph(1, format), LARGE);
    assert.ok(templates.length <= 7, templates.map(({ module }) => module.name).join(', '));
  });
}

test('no loop of a kernel has a variable without a value', () => {
  const matrices: GpuMatrices = {
    ...{ rows: 16, outputs: 16, depth: 16, lanes: 32 },
    ...{ text: SUBGROUP_MATRICES, decodeText: WEIGHT_HALVES },
  };
  const targets = [
    LARGE,
    { ...LARGE, workgroupBytes: 48 << 10, matrices },
    { ...LARGE, lanes: 1, unroll: false },
  ];
  const texts = new Set<string>();
  for (const target of targets) {
    for (const of of ALL_CASES.filter(({ name }) => !selected([REFUSE_COPIES], name))) {
      for (const { module } of lowerGraph(caseGraph(of), target).templates) {
        texts.add(
          moduleText(
            module,
            module.parameters.map(({ access }) => access),
          ),
        );
      }
    }
  }
  assert.ok(texts.size > 1000);
  for (const code of texts) assert.deepEqual(unsetInLoops(code), [], code);
});

test('plans of all capacities want their weights in one layout', () =>
  checkOneLayout((graph) => lowerGraph(graph, LARGE).weights));

test('tiles of matrix products have room in the workgroup memory that there is', async () => {
  const matrices: GpuMatrices = {
    ...{ rows: 16, outputs: 16, depth: 16, lanes: 32 },
    ...{ text: SUBGROUP_MATRICES, decodeText: WEIGHT_HALVES },
  };
  for (const workgroupBytes of [16 << 10, 32 << 10, 48 << 10]) {
    for (const rows of [9, 64, 512]) {
      const { templates } = lowerGraph(await layerGraph(rows), { ...LARGE, workgroupBytes, matrices });
      const products = templates.filter(({ module }) => module.name.endsWith('matrix_product'));
      assert.ok(products.length > 0);
      for (const { module } of products) {
        const [across, down, depth] = ['TILE_ROWS', 'TILE_OUTPUTS', 'DEPTH'].map((name) =>
          Number(module.constants[name]),
        ) as [number, number, number];
        assert.ok(16 * (across + down) * (depth / 8 + 1) <= workgroupBytes, `${across} x ${down} x ${depth}`);
      }
    }
  }
});
