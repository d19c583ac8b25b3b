import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inLayer } from '../../src/model/synthetic-family.ts';
import { emulatedTests, withDevice } from '../support/hip-cuda/emulator.ts';
import {
  CPU,
  DRAFTS,
  REQUESTS,
  said,
  saysTheSame,
  STEADY,
  testPredictions,
} from '../support/predicting-texts.ts';

// A cache of heads, one of latents, recurrent states beside experts, and a window; `full/predictors` has the others.
for (const architecture of ['glm4moe', 'deepseek2', 'qwen3next', 'step35']) testPredictions(architecture);

// One whose rows are rolled back in the cache alone, and one with recurrent states.
for (const architecture of ['glm4moe', 'qwen35']) {
  test(`${architecture}: predictions of a number that adapts, and all wrong with little memory, change no token`, async () => {
    const plain = await said(architecture, { noise: 0.4 }, { sequences: 4 });
    assert.deepEqual((await said(architecture, { noise: 0.4 }, DRAFTS)).texts, plain.texts);
    const little = { ...STEADY, sequences: 2, batch: 16, cachePositions: 160 };
    const [ignorant, expected] = await Promise.all([
      said(architecture, {}, little),
      said(architecture, {}, { sequences: 2 }),
    ]);
    assert.deepEqual(ignorant.texts, expected.texts);
  });
}

test('a predicting block may attend where no layer of the model does', async () => {
  const metadata = { 'attention.head_count_kv': inLayer(2, 1, 3) };
  const of = { noise: 0, variant: { metadata } };
  const on = { ...CPU, requests: REQUESTS.slice(0, 2) };
  const plain = await said('bailingmoe3', of, { sequences: 2 }, on);
  const drafts = { sequences: 2, predictor: true, speculation: 3, runtime: { adaptsDrafts: false } };
  const drafted = await said('bailingmoe3', of, drafts, on);
  assert.deepEqual(drafted.texts, plain.texts);
  assert.ok(drafted.accepted > 0, `${drafted.accepted} of ${drafted.proposed}`);
  const more = await said('bailingmoe3', of, { ...drafts, speculation: undefined, minDraftTokens: 4 }, on);
  assert.deepEqual(more.texts, plain.texts);
  assert.ok(more.proposed > 0, 'four instead of the usual three');
});

const emulated = await emulatedTests('gfx1100');

emulated('glm4moe predicts on an emulated GPU', async (emulator) => {
  await withDevice(emulator, (device) => saysTheSame('glm4moe', () => Promise.resolve(device)));
});
