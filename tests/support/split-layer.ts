import assert from 'node:assert/strict';
import { Q4_0 } from '../../src/formats/index.ts';
import type { SyntheticShape } from '../../src/model/synthetic-family.ts';
import type { OpGraph } from '../../src/ops/index.ts';
import { splitModel } from '../../src/plan/ranks/split-model.ts';
import { syntheticGraphs, syntheticModel } from './synthetic-graphs.ts';

/** Rank 0's graph of a model's second layer, for one row. */
export async function splitLayer(shape: SyntheticShape, ranks: number): Promise<OpGraph> {
  const model = await syntheticModel(shape, Q4_0);
  const sizes = { rows: 1, outputs: 1, slots: 4, blocksPerSlot: 16 };
  const options = { shape: sizes, ...sizes, tokens: 1, context: 256, alternatives: 4 };
  const graphs = syntheticGraphs(model, { ...options, blocks: 64, cacheType: 'f16' });
  const { layers } = splitModel(graphs, { ranks, gatherAtLeast: 2 ** 20 });
  return layers[1]?.graph ?? assert.fail('there are layers');
}
