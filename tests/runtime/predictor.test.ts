import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inLayer } from '../../src/model/synthetic-family.ts';
import { emulatedTests, withDevice } from '../support/hip-cuda/emulator.ts';
import type { PredictingOptions } from '../support/predicting-model.ts';
import { CPU, DRAFTS, REQUESTS, said, saysTheSame, STEADY } from '../support/predicting-texts.ts';

/** Sizes with which an architecture's last layer may predict. */
const SIZES: Readonly<Record<string, PredictingOptions['sizes']>> = { deepseek4: { layers: 4, experts: 8 } };

for (const architecture of [
  'glm4moe',
  'deepseek2',
  'deepseek32',
  'deepseek4',
  'qwen35',
  'qwen35moe',
  'qwen3next',
  'mimo2',
  'hy_v3',
  'step35',
]) {
  test(`${architecture}: the model's own predictions change no token, and save steps as far as they are right`, async () => {
    const sizes = SIZES[architecture] ?? {};
    const plain = await said(architecture, { noise: 0, sizes }, { sequences: 4 });
    const exact = await said(architecture, { noise: 0, sizes }, STEADY);
    assert.deepEqual(exact.texts, plain.texts);
    assert.ok(
      exact.proposed > 40 && exact.accepted > 0.9 * exact.proposed,
      `${exact.accepted} of ${exact.proposed}`,
    );
    assert.ok(exact.steps < 0.6 * plain.steps, `${exact.steps} steps instead of ${plain.steps}`);
    const noisy = await said(architecture, { noise: 0.4, sizes }, STEADY);
    assert.deepEqual(noisy.texts, plain.texts);
    assert.ok(
      noisy.accepted > 0 && noisy.accepted < 0.9 * noisy.proposed,
      `${noisy.accepted} of ${noisy.proposed}`,
    );
    assert.ok(noisy.steps <= plain.steps, `${noisy.steps} steps instead of ${plain.steps}`);
  });
}

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
});

const emulated = await emulatedTests('gfx1100');

emulated('glm4moe predicts on an emulated GPU', async (emulator) => {
  await withDevice(emulator, (device) => saysTheSame('glm4moe', () => Promise.resolve(device)));
});
