import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
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
