import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GpuMatrices, GpuTarget } from '../../src/devices/webgpu/gpu-target.ts';
import { SUBGROUP_MATRICES } from '../../src/devices/webgpu/kernels/library/matrices.ts';
import { WEIGHT_HALVES } from '../../src/devices/webgpu/kernels/weight-halves.ts';
import { lowerGraph } from '../../src/devices/webgpu/lowering/lower-graph.ts';
import { Q4_0, Q4_K, Q8_0 } from '../../src/formats/index.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import { syntheticGraphs, syntheticModel } from '../support/synthetic-graphs.ts';

/** A large GPU, with no more than every WebGPU has. */
const LARGE: GpuTarget = {
  lanes: 32,
  packedDot: true,
  timestamps: false,
  unroll: true,
  threads: 256,
  workgroupBytes: 16 << 10,
  bindingBytes: 128 << 20,
  storageBindings: 8,
  uniformBytes: 64 << 10,
  gridSize: 65535,
};

async function graphsOf(rows: number, format = Q4_0) {
  const shape = { ...syntheticShape('llama-2-7b'), layers: 2 };
  return syntheticGraphs(await syntheticModel(shape, format), {
    shape: { rows, outputs: 1, slots: 1, blocksPerSlot: 128 },
    blocks: 128,
    cacheType: 'f16',
    context: 4096,
    tokens: 1,
    alternatives: 0,
  });
}

for (const format of [Q4_0, Q4_K, Q8_0]) {
  test(`a layer in ${format.name} takes at most 7 dispatches a token`, async () => {
    const [layer] = (await graphsOf(1, format)).layers;
    assert.ok(layer);
    const { templates } = lowerGraph(layer.graph, LARGE);
    assert.ok(templates.length <= 7, templates.map(({ module }) => module.name).join(', '));
  });
}

test('plans of all capacities want their weights in one layout', async () => {
  const weightsOf = async (rows: number) =>
    (await graphsOf(rows)).layers.map(({ graph }) =>
      lowerGraph(graph, LARGE).weights.map(({ layout, parts, byteLength }) => [
        layout,
        byteLength,
        ...parts.map(({ name }) => name),
      ]),
    );
  const [one, ...others] = await Promise.all([1, 2, 8, 9, 64, 512].map(weightsOf));
  for (const other of others)
    assert.deepEqual(
      other?.map((weights) => weights.sort()),
      one?.map((weights) => weights.sort()),
    );
});

test('tiles of matrix products have room in the workgroup memory that there is', async () => {
  const matrices: GpuMatrices = {
    ...{ rows: 16, outputs: 16, depth: 16, lanes: 32 },
    ...{ text: SUBGROUP_MATRICES, decodeText: WEIGHT_HALVES },
  };
  for (const workgroupBytes of [16 << 10, 32 << 10, 48 << 10]) {
    for (const rows of [9, 64, 512]) {
      const [layer] = (await graphsOf(rows)).layers;
      assert.ok(layer);
      const { templates } = lowerGraph(layer.graph, { ...LARGE, workgroupBytes, matrices });
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
