/** Texts of models that predict further tokens themselves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Device } from '../../src/device/index.ts';
import type { GenerateOptions } from '../../src/engine/generate-options.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { type PredictingOptions, predictingModel } from './predicting-model.ts';

interface Request {
  readonly prompt: readonly number[];
  readonly options: GenerateOptions;
}

/** Greedy and drawn, with penalties and without; prompts of one block of the cache and more. */
export const REQUESTS: readonly Request[] = Array.from({ length: 4 }, (_, i) => ({
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

/** On which device, and what is asked. */
export interface Opened {
  readonly open: () => Promise<Device>;
  readonly requests: readonly Request[];
}

/** All requests of the CPU. */
export const CPU: Opened = { open: () => openCpu({ threads: 1 }), requests: REQUESTS };

/** What all requests say at once, twice. */
export async function said(
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

/** Three guesses at a time at most. */
export const DRAFTS = { sequences: 4, predictor: true, speculation: 3 };
/** Three guesses at a time. */
export const STEADY = { ...DRAFTS, runtime: { adaptsDrafts: false } };

/** Sizes with which an architecture's last layer may predict. */
const SIZES: Readonly<Record<string, PredictingOptions['sizes']>> = { deepseek4: { layers: 4, experts: 8 } };

/** Declares that an architecture's predictions save steps as far as they are right, and change no token. */
export function testPredictions(architecture: string): void {
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

/** The architectures of which `npm test` has goldens of the first predictions alone. */
export const OTHER_PREDICTORS: readonly string[] = [
  'deepseek32',
  'deepseek4',
  'qwen35',
  'qwen35moe',
  'mimo2',
  'hy_v3',
];

/** Two short texts, one of which is drawn. */
const SHORT = REQUESTS.slice(0, 2).map(({ prompt, options }) => ({
  prompt: prompt.slice(0, 9),
  options: { ...options, maxTokens: 7 },
}));

/** On a GPU, plans of one capacity give the same text whatever the number of rows. */
export async function saysTheSame(architecture: string, open: () => Promise<Device>): Promise<void> {
  const on = { open, requests: SHORT };
  const options = { sequences: 2, context: 32, deterministic: true, cacheType: 'f32' } as const;
  const drafted = { ...options, predictor: true, speculation: 3, runtime: { adaptsDrafts: false } };
  const plain = await said(architecture, { noise: 0 }, options, on);
  const noisy = await said(architecture, { noise: 0.2 }, drafted, on);
  assert.deepEqual(noisy.texts, plain.texts);
  assert.ok(noisy.accepted > 0 && noisy.steps <= plain.steps, `${noisy.accepted} of ${noisy.proposed}`);
}
