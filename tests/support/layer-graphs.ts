import assert from 'node:assert/strict';
import type { PackedWeight } from '../../src/device/index.ts';
import { Q4_0, Q4_K, Q6_K, type TensorFormat } from '../../src/formats/index.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import type { OpGraph } from '../../src/ops/index.ts';
import { syntheticGraphs, syntheticModel } from './synthetic-graphs.ts';

/** The graph of a 7B model's layer for this many rows, optionally with another format for the value weights. */
export async function layerGraph(rows: number, format = Q4_0, values?: TensorFormat): Promise<OpGraph> {
  return layerOf('llama-2-7b', { rows, slots: 1 }, format, values);
}

/** The graph of a layer of a known shape for so many rows of so many sequences. */
export async function layerOf(
  name: string,
  { rows, slots }: { readonly rows: number; readonly slots: number },
  format = Q4_0,
  values?: TensorFormat,
): Promise<OpGraph> {
  const shape = { ...syntheticShape(name), layers: 1 };
  const { layers } = syntheticGraphs(await syntheticModel(shape, format, values), {
    shape: { rows, outputs: 1, slots, blocksPerSlot: 128 },
    blocks: 128 * slots,
    cacheType: 'f16',
    context: 4096,
    tokens: 1,
    alternatives: 0,
  });
  const [layer] = layers;
  assert.ok(layer);
  return layer.graph;
}

/**
 * A layer must need the same packed weights for one token and for many rows, or a model's weights would be stored
 * twice.
 */
export async function checkOneLayout(weightsOf: (graph: OpGraph) => readonly PackedWeight[]): Promise<void> {
  for (const formats of [[Q4_0], [Q4_K, Q6_K]] as const) {
    const [one, ...others] = await Promise.all(
      [1, 2, 8, 9, 64, 512].map(async (rows) => {
        const weights = weightsOf(await layerGraph(rows, ...formats));
        return weights
          .map(({ layout, parts }) => [layout, ...parts.map(({ name }) => name)].join(' '))
          .sort();
      }),
    );
    for (const other of others) assert.deepEqual(other, one);
  }
}
