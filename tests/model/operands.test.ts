import assert from 'node:assert/strict';
import { test } from 'node:test';
import { architectureOf } from '../../src/model/architecture.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { ConfigReader } from '../../src/model/config-reader.ts';
import { recordModel } from '../../src/model/model-graphs.ts';
import { type Op, operandsOf, resultsOf } from '../../src/ops/op.ts';
import type { Tensor } from '../../src/ops/value.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import { FAMILY_FIXTURES, familyPaths } from '../support/family-fixtures.ts';

const SHAPE = { rows: 1, outputs: 1, slots: 1, blocksPerSlot: 1 };

/** Every computed tensor in an operator's fields, however deep. */
function computedIn(value: unknown): Tensor[] {
  if (typeof value !== 'object' || value === null) return [];
  const { kind, role } = value as Partial<Tensor>;
  if (kind === 'tensor') return role === 'temp' ? [value as Tensor] : [];
  return Object.values(value).flatMap(computedIn);
}

// What is missing there is freed too early, and lost where a graph is cut.
test('operators of every family name all computed tensors that they read or write', async () => {
  for (const family of FAMILY_FIXTURES) {
    await using file = await openGguf(familyPaths(family).model);
    const architecture = architectureOf(file.metadata, ALL_ARCHITECTURES);
    const name = file.metadata.requireString('general.architecture');
    const config = architecture.configure(new ConfigReader(file.metadata, name));
    const tensors = new Map(file.tensors.map((tensor) => [tensor.name, tensor]));
    const { embedding, layers, head } = recordModel(config, tensors, {
      ...{ shape: SHAPE, groups: config.state.map((group) => ({ ...group, blocks: 1 })) },
      ...{ cacheType: 'f32', context: 32, tokens: 1, alternatives: 0 },
    });
    const ops: readonly Op[] = [embedding, ...layers, head].flatMap(({ graph }) => graph.ops);
    for (const op of ops) {
      const known = new Set<unknown>([...operandsOf(op), ...resultsOf(op)]);
      const unknown = computedIn(op).filter((tensor) => !known.has(tensor));
      const found = unknown.map((tensor) => `${family.name}: ${tensor.name} of ${op.kind}`);
      assert.deepEqual(found, []);
    }
  }
});
