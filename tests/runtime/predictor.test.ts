import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GenerateOptions } from '../../src/engine/generate-options.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import type { Device } from '../../src/device/index.ts';
import { inLayer } from '../../src/model/synthetic-family.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { emulatedTests, withDevice } from '../support/hip-cuda/emulator.ts';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';
import { type PredictingOptions, predictingModel } from '../support/predicting-model.ts';

interface Request {
  readonly prompt: readonly number[];
  readonly options: GenerateOptions;
}

/** Greedy and drawn, with penalties and without; prompts of one block of the cache and more. */
const REQUESTS: readonly Request[] = Array.from({ length: 4 }, (_, i) => ({
  prompt: Array.from({ length: 7 + 13 * i }, (_unused, at) => 3 + ((at * 37 + i * 11) % 56)),
  options: {
    temperature: i % 2,
    seed: 7 + i,
    repeatPenalty: i === 2 ? 1.2 : 1,
    maxTokens: 11 + 6 * i,
    ignoreEnd: true,
    ...(i === 3 && { logProbabilities: 2 }),
  },
}));

interface Opened {
  readonly open: () => Promise<Device>;
  readonly requests: readonly Request[];
}

const CPU: Opened = { open: () => openCpu({ threads: 1 }), requests: REQUESTS };

/** What all requests say at once, twice. */
async function said(
  architecture: string,
  of: PredictingOptions,
  options: ModelOptions,
  { open, requests }: Opened = CPU,
) {
  const device = await open();
  const gguf = await predictingModel(architecture, of);
  const parts = { gguf, device, architectures: ALL_ARCHITECTURES, sharesDevice: true };
  const model = await LanguageModel.open(parts, options);
  const say = async ({ prompt, options: how }: Request) => {
    const tokens: object[] = [];
    const stream = model.generate(prompt, how);
    for await (const { token } of stream) if (token) tokens.push(token);
    return { tokens, end: stream.end };
  };
  const first = await Promise.all(requests.map(say));
  const again = await Promise.all(requests.map(say));
  const texts = first.map(({ tokens }) => tokens);
  assert.deepEqual(
    again.map(({ tokens }) => tokens),
    texts,
  );
  const sum = (count: 'proposedTokens' | 'acceptedTokens') =>
    first.reduce((all, { end }) => all + end[count], 0);
  const { steps } = model.counters;
  await model.dispose();
  assert.equal(device.liveObjects(), 0);
  return { texts, steps, proposed: sum('proposedTokens'), accepted: sum('acceptedTokens') };
}

const DRAFTS = { sequences: 4, predictor: true, speculation: 3 };
const STEADY = { ...DRAFTS, runtime: { adaptsDrafts: false } };

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

/** Two short texts, one of which is drawn. */
const SHORT = REQUESTS.slice(0, 2).map(({ prompt, options }) => ({
  prompt: prompt.slice(0, 9),
  options: { ...options, maxTokens: 7 },
}));

/** On a GPU, plans of one capacity give the same text whatever the number of rows. */
async function saysTheSame(architecture: string, open: () => Promise<Device>): Promise<void> {
  const on = { open, requests: SHORT };
  const options = { sequences: 2, context: 32, deterministic: true, cacheType: 'f32' } as const;
  const drafted = { ...options, predictor: true, speculation: 3, runtime: { adaptsDrafts: false } };
  const plain = await said(architecture, { noise: 0 }, options, on);
  const noisy = await said(architecture, { noise: 0.2 }, drafted, on);
  assert.deepEqual(noisy.texts, plain.texts);
  assert.ok(noisy.accepted > 0 && noisy.steps <= plain.steps, `${noisy.accepted} of ${noisy.proposed}`);
}

const emulated = await emulatedTests('gfx1100');

test('qwen35 predicts under WebGPU', { skip: NO_SOFTWARE_GPU }, () => saysTheSame('qwen35', openSoftwareGpu));

emulated('glm4moe predicts on an emulated GPU', async (emulator) => {
  await withDevice(emulator, (device) => saysTheSame('glm4moe', () => Promise.resolve(device)));
});
