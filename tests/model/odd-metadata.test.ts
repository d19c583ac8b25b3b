import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { F32 } from '../../src/formats/index.ts';
import type { GgufValue } from '../../src/gguf/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { SYNTHETIC_FAMILIES } from '../../src/model/synthetic/families.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import { syntheticPlan } from '../../src/model/synthetic/synthetic-plan.ts';
import { count } from '../../src/model/synthetic/values.ts';
import { familyOfVariant } from '../support/family-variants.ts';

/** What a file of an architecture says by the key, and why no layer could be recorded so. */
const REFUSED: readonly { architecture: string; key: string; value: GgufValue; expected: string }[] = [
  {
    architecture: 'llama',
    key: 'attention.head_count_kv',
    value: count(3),
    expected: 'a divisor of 4 heads',
  },
  {
    architecture: 'llama',
    key: 'rope.dimension_count',
    value: count(7),
    expected: 'an even number of at most 8',
  },
  {
    architecture: 'llama',
    key: 'rope.dimension_count',
    value: count(10),
    expected: 'an even number of at most 8',
  },
  {
    architecture: 'llama',
    key: 'feed_forward_length',
    value: { type: 'array', element: 'u32', values: [48, 64] },
    expected: 'one value for all layers',
  },
  { architecture: 'qwen3moe', key: 'expert_used_count', value: count(9), expected: 'at most 6' },
  { architecture: 'glm4moe', key: 'expert_group_count', value: count(4), expected: 'a divisor of 6 experts' },
  { architecture: 'glm4moe', key: 'nextn_predict_layers', value: count(2), expected: 'less than 2 layers' },
];

for (const { architecture, key, value, expected } of REFUSED) {
  test(`${architecture} with ${key} that does not go with the rest is refused by that key`, async () => {
    const variant = { name: 'odd', architecture, metadata: { [key]: value } };
    const shape = syntheticShape('tiny', { architecture });
    const plan = syntheticPlan('odd', shape, { format: F32, family: familyOfVariant(variant) });
    await assert.rejects(plan, (error) => {
      assert.ok(isRocmforgeError(error, 'MODEL_CONFIG'));
      assert.equal(error.params.key, `${architecture}.${key}`);
      assert.equal(error.params.expected, expected);
      return true;
    });
  });
}

test('layers behind the last that predict further tokens are no layers of the model', async () => {
  const architecture = 'glm4moe';
  const variant = { name: 'predicting', architecture, metadata: { nextn_predict_layers: count(1) } };
  const shape = syntheticShape('tiny', { architecture, layers: 3 });
  const plan = await syntheticPlan('predicting', shape, { format: F32, family: familyOfVariant(variant) });
  const layers = new Set(plan.tensors.map(({ name }) => /^blk\.(\d+)\./.exec(name)?.[1]));
  assert.deepEqual([...layers].filter(Boolean), ['0', '1']);
});

test('a model of every architecture can be made up', () => {
  const names = ALL_ARCHITECTURES.flatMap((architecture) => architecture.names);
  assert.deepEqual(Object.keys(SYNTHETIC_FAMILIES).sort(), [...names].sort());
});
