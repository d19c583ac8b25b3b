import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryBudget } from '../../src/device/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import { familyPaths } from '../support/family-fixtures.ts';
import { largestDifference, logitsOf } from '../support/prompt-chunk-tests.ts';

const IDS = [7, 25, 53, 30, 17, 14, 21, 38];
const OPTIONS = { context: 32, batch: 8, logitRows: 8 } as const;

async function open(name: string, options: ModelOptions = {}): Promise<LanguageModel> {
  const gguf = await openGguf(familyPaths({ name, sizes: {} }).model);
  const device = await openCpu({ threads: 1 });
  try {
    const parts = { gguf, device, architectures: ALL_ARCHITECTURES };
    return await LanguageModel.open(parts, { ...OPTIONS, ...options });
  } catch (error) {
    await device[Symbol.asyncDispose]();
    await gguf[Symbol.asyncDispose]();
    throw error;
  }
}

// Biases of experts; groups of experts and a shared one; experts beside a dense feed-forward, with factors of their own;
// weighted inputs; two projections around the experts.
for (const name of ['gpt-oss', 'glm4moe', 'gemma4', 'llama4', 'nemotron_h_moe', 'mixtral']) {
  test(`${name} computes with some experts on the device what it computes with all`, async () => {
    await using whole = await open(name);
    const expected = await logitsOf(whole, IDS);
    for (const expertSlots of [1, 3]) {
      await using streamed = await open(name, { experts: 'stream', expertSlots });
      const difference = largestDifference(await logitsOf(streamed, IDS), expected);
      assert.ok(difference < 1e-4, `${expertSlots} slots: a logit differs by ${difference}`);
    }
  });
}

test('as many experts stay as fit, and sequences that run together choose among them', async () => {
  await using whole = await open('qwen3moe', { sequences: 3 });
  const weightMemory = Math.floor(0.6 * whole.fit.weights);
  await using streamed = await open('qwen3moe', { sequences: 3, experts: 'stream', weightMemory });
  const { expertSlots, weights, streamedParts } = streamed.fit;
  assert.ok(expertSlots > 1 && expertSlots < 16 && weights <= weightMemory, `${expertSlots} slots`);
  assert.equal(streamedParts, 0);
  const say = (model: LanguageModel) =>
    Promise.all(
      [[1, 2], [3], [4, 5, 6]].map((ids) =>
        model.generate(ids, { temperature: 0, maxTokens: 8, ignoreEnd: true }).text(),
      ),
    );
  assert.deepEqual(await say(streamed), await say(whole));
  await using all = await open('qwen3moe', { experts: 'stream' });
  assert.equal(all.fit.expertSlots, 16);
});

test('experts that come again and again are copied from pinned pages', async () => {
  const hostMemory = new MemoryBudget('host', 2 ** 30);
  const device = openReferenceDevice();
  const gguf = await openGguf(familyPaths({ name: 'qwen3moe', sizes: {} }).model);
  const parts = { gguf, device, architectures: ALL_ARCHITECTURES };
  const options = { ...OPTIONS, experts: 'stream', expertSlots: 5, hostMemory } as const;
  await using streamed = await LanguageModel.open(parts, options);
  const ids = IDS.slice(0, 3);
  const first = await logitsOf(streamed, ids);
  const firstBytes = streamed.counters.expertBytes;
  // Groups of experts are added up in the order in which they come.
  for (let time = 0; time < 3; time++) {
    assert.ok(largestDifference(await logitsOf(streamed, ids), first) < 1e-6);
  }
  assert.ok(streamed.counters.expertBytes > firstBytes);
  assert.ok(hostMemory.info.free < hostMemory.total);
});

test('what cannot be streamed by use is refused by name', async () => {
  const refused = (name: string, options: ModelOptions, message: RegExp) =>
    assert.rejects(open(name, options), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'INVALID_ARGUMENT');
      return message.test(error.message);
    });
  await refused('llama', { experts: 'stream' }, /a model with experts/);
  await refused('qwen3moe', { expertSlots: 4 }, /expertSlots/);
  await refused('qwen3moe', { experts: 'host' as 'stream' }, /device, stream/);
  await refused(
    'qwen3moe',
    { experts: 'stream', taps: new Map([['blk.0.attention', () => undefined]]) },
    /taps/,
  );
});
