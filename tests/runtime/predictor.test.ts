import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GenerateOptions } from '../../src/engine/generate-options.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
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

/** What all requests say at once, twice. */
async function said(architecture: string, of: PredictingOptions, options: ModelOptions) {
  const device = await openCpu({ threads: 1 });
  const gguf = await predictingModel(architecture, of);
  const model = await LanguageModel.open({ gguf, device, architectures: ALL_ARCHITECTURES }, options);
  const say = async ({ prompt, options: how }: Request) => {
    const tokens: object[] = [];
    const stream = model.generate(prompt, how);
    for await (const { token } of stream) if (token) tokens.push(token);
    return { tokens, end: stream.end };
  };
  const first = await Promise.all(REQUESTS.map(say));
  const again = await Promise.all(REQUESTS.map(say));
  const texts = first.map(({ tokens }) => tokens);
  assert.deepEqual(
    again.map(({ tokens }) => tokens),
    texts,
  );
  const sum = (of: 'proposedTokens' | 'acceptedTokens') => first.reduce((all, { end }) => all + end[of], 0);
  const { steps } = model.counters;
  await model.dispose();
  assert.equal(device.liveObjects(), 0);
  return { texts, steps, proposed: sum('proposedTokens'), accepted: sum('acceptedTokens') };
}

for (const architecture of ['glm4moe', 'deepseek2', 'qwen35', 'qwen35moe', 'qwen3next', 'mimo2']) {
  test(`${architecture}: the model's own predictions change no token, and save steps as far as they are right`, async () => {
    const plain = await said(architecture, { noise: 0 }, { sequences: 4 });
    const options = { sequences: 4, predictor: true, speculation: 3 };
    const exact = await said(architecture, { noise: 0 }, options);
    assert.deepEqual(exact.texts, plain.texts);
    assert.ok(
      exact.proposed > 40 && exact.accepted > 0.9 * exact.proposed,
      `${exact.accepted} of ${exact.proposed}`,
    );
    assert.ok(exact.steps < 0.6 * plain.steps, `${exact.steps} steps instead of ${plain.steps}`);
    const noisy = await said(architecture, { noise: 0.4 }, options);
    assert.deepEqual(noisy.texts, plain.texts);
    assert.ok(
      noisy.accepted > 0 && noisy.accepted < 0.9 * noisy.proposed,
      `${noisy.accepted} of ${noisy.proposed}`,
    );
    const [ignorant, expected] = await Promise.all([
      said(architecture, {}, { ...options, sequences: 2, batch: 16, cachePositions: 160 }),
      said(architecture, {}, { sequences: 2 }),
    ]);
    assert.deepEqual(ignorant.texts, expected.texts);
  });
}
