import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { GgufValue } from '../../src/gguf/index.ts';
import { loadModel } from '../../src/index.ts';
import { openGguf } from '../../src/node/index.ts';
import { type FamilyVariant, writeVariant } from '../support/family-variant.ts';
import { temporaryFolder } from '../support/temporary.ts';

const each = (...values: number[]): GgufValue => ({ type: 'array', element: 'u32', values });

/** Layers with key heads and feed-forwards of their own; the third has the first one's. */
const UNEVEN: FamilyVariant = {
  name: 'llama, uneven layers',
  architecture: 'llama',
  sizes: { layers: 3 },
  metadata: { 'attention.head_count_kv': each(2, 4, 2), feed_forward_length: each(48, 96, 48) },
};

const PROMPT = Array.from({ length: 12 }, (_, index) => (7 * index + 3) % 64);

/** Greedy tokens and how likely each was. */
async function decoded(path: string, device: string, sequences = 1) {
  await using model = await loadModel(path, { device, threads: 2, cacheType: 'f32', sequences });
  const one = async () => {
    const found: { id: number; logProbability: number | undefined }[] = [];
    const options = { maxTokens: 16, temperature: 0, ignoreEnd: true, logProbabilities: 1 };
    for await (const { token } of model.generate(PROMPT, options)) {
      if (token) found.push({ id: token.id, logProbability: token.logProbability });
    }
    return found;
  };
  return await Promise.all(Array.from({ length: sequences }, one));
}

test('layers may differ in heads and widths, as arrays of the metadata say', async (t) => {
  const path = join(temporaryFolder(t), 'uneven.gguf');
  await writeVariant(UNEVEN, path);
  await using gguf = await openGguf(path);
  const rows = (name: string) =>
    [0, 1, 2].map((layer) => gguf.tensors.find((of) => of.name === `blk.${layer}.${name}.weight`)?.shape[1]);
  assert.deepEqual(rows('attn_k'), [16, 32, 16]);
  assert.deepEqual(rows('ffn_up'), [48, 96, 48]);
  const [expected = []] = await decoded(path, 'reference');
  for (const found of await decoded(path, 'cpu', 3)) {
    assert.deepEqual(
      found.map(({ id }) => id),
      expected.map(({ id }) => id),
    );
    for (const [index, { logProbability }] of found.entries()) {
      const wanted = expected[index]?.logProbability ?? Number.NaN;
      const difference = Math.abs((logProbability ?? Number.NaN) - wanted);
      assert.ok(difference < 1e-4, `log probability ${index} differs by ${difference}`);
    }
  }
});
