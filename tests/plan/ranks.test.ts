import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LanguageModel } from '../../src/index.ts';
import { loadModel } from '../../src/index.ts';
import { openDevice } from '../../src/node/devices.ts';
import { fixture } from '../support/fixture.ts';

const LLAMA = fixture('families/llama.gguf');
const OPTIONS = { context: 16, batch: 4, logitRows: 4, cacheType: 'f32', device: 'cpu', threads: 2 } as const;

async function logitsOf(model: LanguageModel): Promise<number[]> {
  const found: number[] = [];
  for await (const { logits } of model.evaluate([1, 5, 9, 3])) found.push(...logits);
  return found;
}

test('a deterministic model over three devices gives the bits of one', async () => {
  await using one = await loadModel(LLAMA, { ...OPTIONS, deterministic: true });
  await using three = await loadModel(LLAMA, { ...OPTIONS, deterministic: true, tensorParallel: 3 });
  assert.deepEqual(await logitsOf(three), await logitsOf(one));
});

test('what a group of devices cannot do is refused', async () => {
  const bad = (options: object) => loadModel(LLAMA, { ...OPTIONS, tensorParallel: 2, ...options });
  await assert.rejects(bad({ experts: 'stream' }), { code: 'INVALID_ARGUMENT', message: /tensorParallel/ });
  for (const tensorParallel of [0, 1.5, 65]) {
    await assert.rejects(openDevice({ device: 'null', tensorParallel }), { code: 'INVALID_ARGUMENT' });
  }
  await using model = await bad({});
  await assert.rejects(model.saveState([1, 5, 9]), { code: 'INVALID_ARGUMENT', message: /2 devices/ });
});
