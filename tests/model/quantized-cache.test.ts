import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Device } from '../../src/device/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { idsOf } from '../support/ids-of.ts';
import { tinyModel } from '../support/tiny-model.ts';

const u32 = (value: number) => ({ type: 'u32', value }) as const;

const GREEDY = { temperature: 0, ignoreEnd: true } as const;

/** The tiny Llama with the same matrices as heads of 32. */
const WIDE_HEADS = [
  ['llama.attention.head_count', u32(2)],
  ['llama.attention.head_count_kv', u32(1)],
] as const;

async function open(device: Device, options: ModelOptions): Promise<LanguageModel> {
  const gguf = await tinyModel('F32', WIDE_HEADS);
  return LanguageModel.open({ gguf, device, architectures: ALL_ARCHITECTURES }, options);
}

const BEGINNING = Array.from({ length: 70 }, (_, i) => 3 + ((i * 37) % 256));
/** Texts that begin alike by whole blocks of the cache, by a part of one, and not at all. */
const PROMPTS = [70, 70, 64, 40, 0, 33, 70, 1].map((alike, i) => [
  ...BEGINNING.slice(0, alike),
  ...Array.from({ length: 1 + 3 * i }, (_, at) => 5 + ((at * 13 + i * 7) % 250)),
]);

for (const cacheType of ['q8_0', { keys: 'q4_0', values: 'q5_1' }] as const) {
  const name = JSON.stringify(cacheType);
  test(`a sequence over a cache of ${name} says the same alone and among others on the CPU`, () =>
    checkCrowd(cacheType));
}

async function checkCrowd(cacheType: NonNullable<ModelOptions['cacheType']>): Promise<void> {
  const options = { cacheType, context: 128 } as const;
  const greedy = (i: number) => ({ ...GREEDY, maxTokens: 6 + 3 * i });
  const alone: number[][] = [];
  {
    await using model = await open(await openCpu({ threads: 1 }), { ...options, inFlight: 1 });
    for (const [i, prompt] of PROMPTS.entries()) {
      model.reset();
      alone.push(await idsOf(model, prompt, greedy(i)));
    }
  }
  // Room for fewer than there are, so that some are put off and computed again.
  const crowd = { ...options, sequences: 4, batch: 24, cachePositions: 320 };
  await using model = await open(await openCpu({ threads: 2 }), crowd);
  const together = await Promise.all(PROMPTS.map((prompt, i) => idsOf(model, prompt, greedy(i))));
  assert.deepEqual(together, alone);
}

test('a saved state of q4_0 keys and q5_1 values goes on as if it had stayed', async () => {
  const options = { cacheType: { keys: 'q4_0', values: 'q5_1' }, context: 128 } as const;
  const [prompt, more] = [BEGINNING.slice(0, 40), { ...GREEDY, maxTokens: 20 }];
  await using model = await open(await openCpu({ threads: 1 }), options);
  const first = await idsOf(model, prompt, { ...GREEDY, maxTokens: 4 });
  const saved = await model.saveState([...prompt, ...first]);
  const next = [...prompt, ...first, 77];
  const stayed = await idsOf(model, next, more);
  await using other = await open(await openCpu({ threads: 1 }), options);
  await other.restoreState(saved);
  assert.deepEqual(await idsOf(other, next, more), stayed);
});

test('a full context of q8_0 makes room as one that is read anew', async () => {
  const options = { cacheType: 'q8_0', context: 48 } as const;
  const prompt = BEGINNING.slice(0, 20);
  await using model = await open(openReferenceDevice(), options);
  const shifted = await idsOf(model, prompt, { ...GREEDY, maxTokens: 60, shift: { keep: 4 } });
  model.reset();
  const first = await idsOf(model, prompt, { ...GREEDY, maxTokens: 60 });
  const kept = [...prompt, ...first];
  kept.splice(4, (kept.length - 4) >> 1);
  model.reset();
  const more = await idsOf(model, kept, { ...GREEDY, maxTokens: 60 - first.length });
  assert.deepEqual(shifted.slice(0, first.length + more.length), [...first, ...more]);
});

test('it takes 17 bytes where halves take 32, and the plan says so', async () => {
  const cacheOf = async (cacheType: NonNullable<ModelOptions['cacheType']>) => {
    await using model = await open(openReferenceDevice(), { cacheType });
    return model.fit.cache;
  };
  const [halves, blocks, floats] = [await cacheOf('f16'), await cacheOf('q8_0'), await cacheOf('f32')];
  const cells = floats - halves;
  assert.equal(halves - blocks, (cells * 15) / 32);
  // 18 and 24 bytes for 32 keys and 32 values, of which halves take 64 each.
  const apart = await cacheOf({ keys: 'q4_0', values: 'q5_1' });
  assert.equal(halves - apart, (cells * (128 - 42)) / 128);
});

test('heads that are no whole blocks, and types that are none, are refused before anything is allocated', async () => {
  await using device = openReferenceDevice();
  const gguf = await tinyModel();
  const open = (cacheType: NonNullable<ModelOptions['cacheType']>) =>
    LanguageModel.open({ gguf, device, architectures: ALL_ARCHITECTURES }, { cacheType });
  await assert.rejects(open('q8_0'), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'CACHE_TYPE');
    assert.match(error.message, /heads of 16/);
    return true;
  });
  await assert.rejects(open('q4_1' as 'q8_0'), { code: 'INVALID_ARGUMENT' });
  await assert.rejects(open({ keys: 'f16', values: 'f32' }), /f16 keys and f32 values/);
  await assert.rejects(open({ keys: 'f16' } as { keys: 'f16'; values: 'f32' }), { code: 'INVALID_ARGUMENT' });
  await assert.rejects(open({ keys: 'f16', values: 'q5_1' }), { code: 'CACHE_TYPE' });
  assert.equal(device.liveObjects(), 0);
});
