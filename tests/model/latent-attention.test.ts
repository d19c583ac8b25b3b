import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { loadModel } from '../../src/index.ts';
import { ConfigReader } from '../../src/model/config-reader.ts';
import { deepseek2 } from '../../src/model/architectures/deepseek2.ts';
import { recordModel } from '../../src/model/model-graphs.ts';
import { count } from '../../src/model/synthetic-family.ts';
import { openGguf } from '../../src/node/index.ts';
import { type FamilyVariant, writeVariant } from '../support/family-variant.ts';
import { fixture } from '../support/fixture.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { predictingPlan } from '../support/predicting-model.ts';

const FILE = fixture('families/deepseek2.gguf');
const BLOCKS = 3;

test('a latent cache stores the latent and what is rotated of a key, once for all heads, and no values', async () => {
  await using gguf = await openGguf(FILE);
  const config = deepseek2.configure(new ConfigReader(gguf.metadata, 'deepseek2'));
  const tensors = new Map(gguf.tensors.map((tensor) => [tensor.name, tensor]));
  const graphs = recordModel(config, tensors, {
    shape: { rows: 4, outputs: 1, slots: 2, blocksPerSlot: 2 },
    groups: [{ kind: 'paged', blocks: BLOCKS }],
    cacheType: 'f16',
    context: 64,
    tokens: 1,
    alternatives: 0,
  });
  for (const { graph } of graphs.layers) {
    const stored = graph.states.map(({ name, type, rows, width }) => ({ name, type, rows, width }));
    assert.deepEqual(stored, [{ name: 'keys', type: 'f16', rows: 32 * BLOCKS, width: 32 + 16 }]);
  }
});

/** Sizes that do not go together, and the key that is named. */
const REFUSED: readonly (readonly [key: string, metadata: FamilyVariant['metadata']])[] = [
  ['attention.head_count_kv', { 'attention.head_count_kv': count(2) }],
  ['attention.key_length', { 'attention.key_length': count(64) }],
  ['attention.value_length_mla', { 'attention.value_length_mla': count(0) }],
  ['rope.dimension_count', { 'attention.key_length_mla': count(16) }],
];

test('latents whose sizes do not go together are refused by the key', async (t) => {
  const path = join(temporaryFolder(t), 'latents.gguf');
  for (const [key, metadata] of REFUSED) {
    const variant = { name: key, architecture: 'deepseek2', ...(metadata && { metadata }) };
    const written = writeVariant(variant, path).then(() => loadModel(path, { device: 'reference' }));
    await assert.rejects(written, (error) => {
      assert.ok(isRocmforgeError(error, 'MODEL_CONFIG'), String(error));
      assert.equal(error.params.key, `deepseek2.${key}`);
      return true;
    });
  }
});

test('a block for multi-token prediction attends to all positions, and needs no indexer', async () => {
  const { tensors } = await predictingPlan('deepseek32');
  const indexed = tensors.flatMap(({ name }) => /^blk\.(\d+)\.indexer\.proj/.exec(name)?.[1] ?? []);
  assert.deepEqual(indexed, ['0', '1']);
  const names = new Set(tensors.map(({ name }) => name));
  assert.ok(names.has('blk.2.attn_kv_a_mqa.weight') && names.has('blk.2.nextn.eh_proj.weight'));
});
