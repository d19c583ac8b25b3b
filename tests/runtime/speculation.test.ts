import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GenerateOptions } from '../../src/engine/generate-options.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { lookUp } from '../../src/scheduler/prompt-lookup.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { tinyModel } from '../support/tiny-model.ts';
import fc from '../support/fast-check.ts';

test('what followed the last ids before is proposed, of the longest repetition the last', () => {
  assert.deepEqual(lookUp([1, 2, 3, 9, 1, 2, 3], 3), [9, 1, 2]);
  assert.deepEqual(lookUp([1, 2, 7, 5, 1, 2, 8, 1, 2], 1), [8]);
  assert.deepEqual(lookUp([4, 1, 2, 7, 5, 1, 2, 8, 4, 1, 2], 2), [7, 5], 'three ids are surer than two');
  for (const ids of [[], [1], [1, 1], [1, 2, 3, 4]]) assert.deepEqual(lookUp(ids, 4), []);
  fc.assert(
    fc.property(fc.array(fc.nat(3), { maxLength: 60 }), fc.nat(8), (ids, most) => {
      const proposed = lookUp(ids, most);
      assert.ok(proposed.length <= most && proposed.every((id) => ids.includes(id)));
    }),
  );
});

interface Request {
  readonly prompt: readonly number[];
  readonly options: GenerateOptions;
}

/** Only a few tokens can be said, so that what was said is said again. */
const FEW = new Map(
  Array.from({ length: 261 }, (_, id) => id)
    .filter((id) => id < 60 || id > 63)
    .map((id) => [id, Number.NEGATIVE_INFINITY]),
);

/** Continued in many ways. */
const REQUESTS: readonly Request[] = Array.from({ length: 4 }, (_, i) => ({
  prompt: Array.from({ length: 20 + 5 * i }, (_, at) => 3 + (at % (5 + i)) * 23),
  options: {
    temperature: i % 3 === 2 ? 0.6 : 0,
    seed: 5 + i,
    repeatPenalty: i % 2 === 0 ? 1 : 1.1,
    penaltyWindow: -1,
    maxTokens: 12 + 9 * i,
    ignoreEnd: true,
    logitBias: FEW,
    ...(i === 3 ? { logProbabilities: 2 } : {}),
  },
}));

async function said(options: ModelOptions) {
  const parts = {
    gguf: await tinyModel(),
    device: await openCpu({ threads: 2 }),
    architectures: ALL_ARCHITECTURES,
  };
  await using model = await LanguageModel.open(parts, options);
  const generate = async ({ prompt, options: how }: Request) => {
    const tokens: object[] = [];
    const stream = model.generate(prompt, how);
    for await (const { token } of stream) if (token) tokens.push(token);
    return { tokens, reason: stream.end.reason, generated: stream.end.generatedTokens };
  };
  const first = await Promise.all(REQUESTS.map(generate));
  // What ended texts left in the cache is right, too.
  const again = await Promise.all(REQUESTS.map(generate));
  assert.deepEqual(again, first);
  return { first, steps: model.counters.steps };
}

test('draft ids change no token, and save steps', async () => {
  const plain = await said({ sequences: 1, inFlight: 1 });
  const alone = await said({ sequences: 1, speculation: 6, runtime: { adaptsDrafts: false } });
  assert.deepEqual(alone.first, plain.first);
  assert.ok(alone.steps < 0.8 * plain.steps, `${alone.steps} steps instead of ${plain.steps}`);
  const beside = await said({ sequences: 4, speculation: 3, cachePositions: 320, batch: 24 });
  assert.deepEqual(beside.first, plain.first);
});
