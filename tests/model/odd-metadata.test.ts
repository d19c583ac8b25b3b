import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { F32 } from '../../src/formats/index.ts';
import { GgufFile, type GgufValue, GgufWriter } from '../../src/gguf/index.ts';
import { MemorySink, MemorySource } from '../../src/io/index.ts';
import { glm4moe } from '../../src/model/architectures/glm4moe.ts';
import { nemotronH } from '../../src/model/architectures/nemotron-h.ts';
import { ConfigReader } from '../../src/model/config-reader.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import { syntheticPlan } from '../../src/model/synthetic/synthetic-plan.ts';
import { count, counts, real } from '../../src/model/synthetic-family.ts';
import { familyOfVariant } from '../support/family-variant.ts';
import { predictingModel } from '../support/predicting-model.ts';

/** What a file of an architecture says by the key, and why no layer could be recorded so. */
interface OddValue {
  readonly architecture: string;
  readonly key: string;
  readonly value: GgufValue;
  /** What the error says was found, where that is not the value itself. */
  readonly found?: string;
  readonly expected: string;
}

const REFUSED: readonly OddValue[] = [
  {
    architecture: 'qwen2vl',
    key: 'rope.dimension_sections',
    value: { type: 'array', element: 'i32', values: [1, 1, 0, 1] },
    found: '1, 1, 0, 1',
    expected: 'a coordinate for each of 4 pairs',
  },
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
    key: 'embedding_length',
    value: { type: 'array', element: 'u32', values: [32, 64] },
    found: '32 and 64',
    expected: 'one value for all layers',
  },
  {
    architecture: 'llama',
    key: 'attention.head_count_kv',
    value: { type: 'array', element: 'u32', values: [2, 3] },
    found: '3',
    expected: 'a divisor of 4 heads',
  },
  {
    architecture: 'llama',
    key: 'feed_forward_length',
    value: { type: 'array', element: 'u32', values: [48, 0] },
    found: '0',
    expected: 'positive whole numbers',
  },
  {
    architecture: 'llama',
    key: 'feed_forward_length',
    value: { type: 'array', element: 'u32', values: [48, 48, 48] },
    found: '3 values',
    expected: 'one for each of 2 layers',
  },
  {
    architecture: 'llama',
    key: 'attention.head_count_kv',
    value: { type: 'array', element: 'u32', values: [] },
    found: '0 values',
    expected: 'one for each of 2 layers',
  },
  {
    architecture: 'gpt-oss',
    key: 'rope.dimension_count',
    value: count(8),
    expected: '16, as heads are wide',
  },
  { architecture: 'llama4', key: 'expert_used_count', value: count(2), expected: '1' },
  {
    architecture: 'llama4',
    key: 'attention.sliding_window',
    value: count(0),
    expected: '8192, which llama4 always has in three layers of four',
  },
  {
    architecture: 'gemma4',
    key: 'attention.shared_kv_layers',
    value: count(1),
    expected: 'such that the last two layers before them are one with a window and one without',
  },
  {
    architecture: 'gemma4',
    key: 'attention.value_length_swa',
    value: count(8),
    expected: '16, as keys have',
  },
  ...[-2, 2.5, Number.POSITIVE_INFINITY].map((period) => ({
    architecture: 'gemma3',
    key: 'attention.sliding_window_pattern',
    value: real(period),
    expected: Number.isFinite(period) ? 'a whole number that is not negative' : 'a number',
  })),
  {
    architecture: 'gemma3',
    key: 'attention.sliding_window_pattern',
    value: { type: 'array', element: 'bool', values: [true] },
    found: '1 values',
    expected: 'one for each of 2 layers',
  },
  {
    architecture: 'olmo2',
    key: 'attention.sliding_window_pattern',
    value: { type: 'array', element: 'u32', values: [1, 1, 0] },
    found: '3 values',
    expected: 'one for each of 2 layers',
  },
  {
    architecture: 'qwen3moe',
    key: 'expert_used_count',
    value: counts(2, (layer) => 3 - layer),
    found: 'other numbers by layer',
    expected: 'one for all layers, whose weights are normalized',
  },
  { architecture: 'qwen3moe', key: 'expert_used_count', value: count(9), expected: 'at most 6' },
  { architecture: 'glm4moe', key: 'expert_group_count', value: count(4), expected: 'a divisor of 6 experts' },
  { architecture: 'glm4moe', key: 'nextn_predict_layers', value: count(2), expected: 'less than 2 layers' },
  {
    architecture: 'qwen3',
    key: 'pooling_type',
    value: count(5),
    found: '5',
    expected: '0 to 4: none, mean, cls, last or rank',
  },
  {
    architecture: 'llama',
    key: 'pooling_type',
    value: count(4),
    found: 'rank',
    expected: 'none, mean, cls or last for this architecture',
  },
  {
    architecture: 'arwkv7',
    key: 'attention.gate_lora_rank',
    value: count(0),
    expected: 'a positive whole number',
  },
  {
    architecture: 'smallthinker',
    key: 'expert_weights_norm',
    value: { type: 'bool', value: false },
    found: 'false',
    expected: 'true, which smallthinker always has',
  },
  {
    architecture: 'deepseek',
    key: 'expert_gating_func',
    value: count(2),
    found: 'sigmoid',
    expected: 'softmax, which deepseek always has',
  },
  {
    architecture: 'dbrx',
    key: 'expert_weights_scale',
    value: real(2.5),
    found: '2.5',
    expected: '1, which dbrx always has',
  },
  {
    architecture: 'step35',
    key: 'expert_shared_feed_forward_length',
    value: count(0),
    found: '0',
    expected: 'a shared expert, as all published files have',
  },
  {
    architecture: 'glm4moe',
    key: 'expert_shared_count',
    value: count(0),
    expected: 'at least 1, as in all published files',
  },
  {
    architecture: 'kimi-linear',
    key: 'expert_shared_count',
    value: count(0),
    expected: 'at least 1, as in all published files',
  },
  { architecture: 'gemma3n', key: 'final_logit_softcapping', value: real(5), expected: '30' },
  {
    architecture: 'grok',
    key: 'rope.scaling.yarn_attn_factor',
    value: real(0.5),
    expected: '1, as in all published files',
  },
  {
    architecture: 'llama-embed',
    key: 'attention.causal',
    value: { type: 'bool', value: true },
    found: 'true, or nothing',
    expected: 'false: rows attend to the whole text',
  },
  {
    architecture: 'ernie4_5-moe',
    key: 'interleave_moe_layer_step',
    value: count(2),
    found: '2',
    expected: '1: a mixture in every layer',
  },
];

for (const { architecture, key, value, found, expected } of REFUSED) {
  test(`${architecture} with ${key} that does not go with the rest is refused by that key`, async () => {
    const variant = { name: 'odd', architecture, metadata: { [key]: value } };
    const shape = syntheticShape('tiny', { architecture });
    const plan = syntheticPlan('odd', shape, { format: F32, family: familyOfVariant(variant) });
    await assert.rejects(plan, (error) => {
      assert.ok(isRocmforgeError(error, 'MODEL_CONFIG'));
      assert.equal(error.params.key, `${architecture}.${key}`);
      if (found !== undefined) assert.equal(error.params.found, found);
      assert.equal(error.params.expected, expected);
      return true;
    });
  });
}

test('a model whose layers are all feed-forwards is refused', async () => {
  const variant = { architecture: 'nemotron_h', metadata: { feed_forward_length: count(48) } };
  const shape = syntheticShape('tiny', { architecture: variant.architecture });
  const plan = syntheticPlan('odd', shape, { format: F32, family: familyOfVariant(variant) });
  await assert.rejects(plan, (error) => isRocmforgeError(error, 'MODEL_CONFIG'));
});

test('the layer behind the last that predicts further tokens is no layer of the model', async () => {
  const architecture = 'glm4moe';
  const variant = { name: 'predicting', architecture, metadata: { nextn_predict_layers: count(1) } };
  const shape = syntheticShape('tiny', { architecture, layers: 3 });
  const plan = await syntheticPlan('predicting', shape, { format: F32, family: familyOfVariant(variant) });
  await using file = await predictingModel(architecture);
  const { layers, predictor } = glm4moe.configure(new ConfigReader(file.metadata, architecture));
  assert.deepEqual([layers.length, predictor?.kind === 'block' && predictor.index], [2, 2]);
  const ofLayer = plan.tensors.filter(({ name }) => name.includes('.nextn.')).map(({ name }) => name);
  assert.deepEqual(
    ofLayer.toSorted(),
    ['eh_proj', 'enorm', 'hnorm'].map((name) => `blk.2.nextn.${name}.weight`),
  );
});

test("Nemotron-H's norms have the epsilon of layer norms in files without their own", async () => {
  const architecture = 'nemotron_h';
  const epsilons = {
    'attention.layer_norm_epsilon': real(0.25),
    'attention.layer_norm_rms_epsilon': real(0.5),
  };
  const variant = { name: 'epsilons', architecture, metadata: epsilons };
  const shape = syntheticShape('tiny', { architecture, layers: 3 });
  const { metadata } = await syntheticPlan('epsilons', shape, {
    format: F32,
    family: familyOfVariant(variant),
  });
  const epsilonOf = async (...without: string[]) => {
    const sink = new MemorySink();
    const kept = [...metadata].filter(([key]) => !without.includes(key));
    await GgufWriter.begin(sink, { metadata: kept, tensors: [] });
    await using file = await GgufFile.open(new MemorySource(sink.bytes(), 'epsilons'));
    const { layers } = nemotronH.configure(new ConfigReader(file.metadata, architecture));
    return layers[0]?.sublayers[0]?.preNorm?.epsilon;
  };
  assert.equal(await epsilonOf(), 0.5);
  assert.equal(await epsilonOf('nemotron_h.attention.layer_norm_rms_epsilon'), 0.25);
});
