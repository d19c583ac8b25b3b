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

/** Greedy ids of single tokens, and what came of the experts. */
async function told(model: LanguageModel) {
  const ids: number[] = [];
  const before = model.counters;
  for await (const { token } of model.generate([5, 3], { temperature: 0, maxTokens: 20, ignoreEnd: true })) {
    if (token) ids.push(token.id);
  }
  const { expertHits, expertMisses, expertPrefetches, expertPrefetchesUsed, expertBytes } = model.counters;
  return {
    ids,
    chosen: expertHits + expertMisses - before.expertHits - before.expertMisses,
    misses: expertMisses - before.expertMisses,
    prefetches: expertPrefetches - before.expertPrefetches,
    used: expertPrefetchesUsed - before.expertPrefetchesUsed,
    bytes: expertBytes - before.expertBytes,
  };
}

// Routers behind a norm, with biases, in groups, beside a dense feed-forward; that read what enters the layer.
for (const name of ['qwen3moe', 'gpt-oss', 'glm4moe', 'gemma4', 'cohere2moe', 'smallthinker']) {
  test(`${name} says the same where experts are loaded before they are chosen, from pinned pages or not`, async () => {
    const options = { experts: 'stream', expertSlots: 6 } as const;
    await using chosen = await open(name, options);
    const expected = await told(chosen);
    assert.equal(expected.prefetches, 0);
    for (const hostMemory of [undefined, new MemoryBudget('host', 2 ** 30)]) {
      await using ahead = await open(name, { ...options, expertPrefetch: 2, hostMemory });
      const found = await told(ahead);
      assert.deepEqual(found.ids, expected.ids);
      assert.equal(found.chosen, expected.chosen);
      assert.ok(found.used > 0 && found.used <= found.prefetches, `${found.used} of ${found.prefetches}`);
      // Each expert has so many bytes: what is loaded is counted once, whether its layer chose it or not.
      const each = expected.bytes / expected.misses;
      assert.equal(found.bytes, (found.misses + found.prefetches) * each);
    }
  });
}

test('a step whose experts cannot be loaded ahead fails, and the next one is as ever', async () => {
  const path = familyPaths({ name: 'qwen3moe', sizes: {} }).model;
  const gguf = await openGguf(path);
  let broken = false;
  const dispose = async (): Promise<void> => {};
  const tensors = gguf.tensors.map((tensor) => {
    const { source } = tensor;
    const read: typeof source.read = (...of) => {
      if (broken && tensor.name === 'blk.1.ffn_up_exps.weight') return Promise.reject(new Error('gone'));
      return source.read(...of);
    };
    const { name, size } = source;
    return { ...tensor, source: { name, size, read, dispose, [Symbol.asyncDispose]: dispose } };
  });
  const merged = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const parts = { gguf, device: openReferenceDevice(), architectures: ALL_ARCHITECTURES, merged };
  const options = { ...OPTIONS, experts: 'stream', expertSlots: 4, expertPrefetch: 3 } as const;
  await using model = await LanguageModel.open(parts, options);
  const { ids } = await told(model);
  broken = true;
  await assert.rejects(told(model), /gone/);
  broken = false;
  assert.deepEqual((await told(model)).ids, ids);
});

test('what cannot be streamed by use is refused by name', async () => {
  const refused = (name: string, options: ModelOptions, message: RegExp) =>
    assert.rejects(open(name, options), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'INVALID_ARGUMENT');
      return message.test(error.message);
    });
  await refused('llama', { experts: 'stream' }, /a model with experts/);
  await refused('qwen3moe', { expertSlots: 4 }, /expertSlots/);
  await refused('qwen3moe', { expertPrefetch: 2 }, /expertPrefetch/);
  await refused('qwen3moe', { experts: 'stream', expertPrefetch: 0 }, /expertPrefetch/);
  // One of its two layers has experts.
  await refused('deepseek2', { experts: 'stream', expertPrefetch: 2 }, /two layers or more/);
  await refused('qwen3moe', { experts: 'elsewhere' as 'stream' }, /device, host, stream/);
  await refused(
    'qwen3moe',
    { experts: 'stream', taps: new Map([['blk.0.attention', () => undefined]]) },
    /taps/,
  );
});
