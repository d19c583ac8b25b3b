import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { GenerateOptions } from '../../src/engine/generate-options.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { tinyModel } from '../support/tiny-model.ts';

let model: LanguageModel;
before(async () => {
  const device = await openCpu({ threads: 1, memoryLimit: 2 ** 30 });
  const gguf = await tinyModel();
  model = await LanguageModel.open(
    { gguf, device, architectures: ALL_ARCHITECTURES },
    { context: 128, sequences: 3, speculation: 3 },
  );
});
after(() => model?.dispose());

/** Draws from all tokens, nearly alike. */
const DRAWS = { temperature: 3, topK: 0, topP: 1, minP: 0, maxTokens: 24, ignoreEnd: true, seed: 7 };
/** Has the host draw, without changing what is drawn. */
const ON_HOST = { namedTokens: [5] };
const A = 68;

async function idsOf(options: GenerateOptions, prompt = 'hi'): Promise<number[]> {
  const ids: number[] = [];
  for await (const { token } of model.generate(prompt, options)) if (token) ids.push(token.id);
  return ids;
}

test('the host draws the tokens that the device draws, beside sequences of the device', async () => {
  const asked: GenerateOptions[] = [
    DRAWS,
    { ...DRAWS, topP: 0.8, repeatPenalty: 1.4, xtcProbability: 0.5 },
    { ...DRAWS, logitBias: new Map([[A, 25]]), dryMultiplier: 20, drySequenceBreakers: ['e'] },
    { ...DRAWS, regex: '[a-f]{24}' },
    { ...DRAWS, temperature: 0 },
  ];
  const [device, host] = await Promise.all([
    Promise.all(asked.map((options) => idsOf(options))),
    Promise.all(asked.map((options) => idsOf({ ...options, ...ON_HOST }))),
  ]);
  assert.deepEqual(host, device);
  assert.ok(new Set(device.map(String)).size === asked.length);
});

test('DRY keeps a text from repeating what its prompt has, up to its breakers', async () => {
  const bias = new Map([[A, 40]]);
  const greedy = { temperature: 0, maxTokens: 8, logitBias: bias, ignoreEnd: true };
  const dry = { ...greedy, dryMultiplier: 80, dryAllowedLength: 2 };
  assert.equal(await model.generate('hi', greedy).text(), 'AAAAAAAA');
  assert.match(await model.generate('hi', dry).text(), /^AAA[^A]/);
  assert.match(await model.generate('hi', { ...dry, dryAllowedLength: 4 }).text(), /^AAAAA[^A]/);
  assert.match(await model.generate('hiAAA', dry).text(), /^[^A]/, 'the prompt counts');
  assert.equal(await model.generate('hi', { ...dry, drySequenceBreakers: ['A'] }).text(), 'AAAAAAAA');
  assert.equal(await model.generate('hi', { ...dry, samplers: ['temperature'] }).text(), 'AAAAAAAA');
});

test('mirostat follows the surprise of its tokens, and its text can be repeated', async () => {
  const mirostat = { ...DRAWS, mirostat: 2, mirostatTau: 1, mirostatEta: 0.3 };
  const first = await idsOf(mirostat);
  assert.deepEqual(await idsOf(mirostat), first);
  assert.notDeepEqual(await idsOf(DRAWS), first);
  assert.notDeepEqual(await idsOf({ ...mirostat, mirostat: 1 }), first);
  assert.notDeepEqual(await idsOf({ ...mirostat, mirostatEta: 0 }), first);
});

test('samplers run in any order, and leave so many tokens', async () => {
  const likeliest = await idsOf({ ...DRAWS, temperature: 0 });
  const narrow = { ...DRAWS, topP: 0.01 };
  assert.deepEqual(await idsOf({ ...narrow, samplers: ['top_p', 'temperature'] }), likeliest);
  assert.notDeepEqual(await idsOf({ ...narrow, minKeep: 50 }), likeliest);
  const hot = { ...DRAWS, temperature: 50, minP: 0.5 };
  assert.notDeepEqual(
    await idsOf({ ...hot, samplers: ['temperature', 'min_p'] }),
    await idsOf({ ...hot, samplers: ['min_p', 'temperature'] }),
  );
});

test('a shifted context does not repeat its random numbers on the host', async () => {
  const long = { ...DRAWS, maxTokens: 200, shift: { keep: 4 } };
  assert.deepEqual(await idsOf({ ...long, ...ON_HOST }), await idsOf(long));
});

test('log-probabilities are told of named tokens, and of the distribution that is drawn from', async () => {
  const named: number[] = [];
  for await (const { token } of model.generate('hi', { ...DRAWS, namedTokens: [A, 9] })) {
    if (!token) continue;
    const [of, other] = token.named ?? [];
    assert.deepEqual([of?.id, other?.id], [A, 9]);
    named.push(of?.logProbability ?? Number.NaN);
  }
  assert.ok(named.length === DRAWS.maxTokens && named.every((value) => value < 0));
  const drawn = { ...DRAWS, topK: 3, logProbabilities: 10, reportsDrawn: true };
  for await (const { token } of model.generate('hi', drawn)) {
    if (!token) continue;
    const { alternatives } = token;
    const sum = alternatives.reduce((total, { logProbability }) => total + Math.exp(logProbability), 0);
    assert.ok(alternatives.length === 3 && Math.abs(sum - 1) < 1e-9);
  }
});

test('what no sampler takes is refused', () => {
  for (const options of [
    { mirostat: 3 },
    { dryPenaltyLastN: -2 },
    { minKeep: -1 },
    { namedTokens: [1_000_000] },
    { namedTokens: new Array<number>(2000).fill(1) },
    { samplers: ['top_q' as 'top_p'] },
  ]) {
    assert.throws(() => model.generate('hi', options), { code: 'INVALID_ARGUMENT' });
  }
});

test('breakers that are none are refused, with DRY and without', () => {
  for (const breaker of ['', 'x'.repeat(41)]) {
    for (const dryMultiplier of [0, 1]) {
      const options = { dryMultiplier, drySequenceBreakers: [breaker] };
      assert.throws(() => model.generate('hi', options), { code: 'INVALID_ARGUMENT' });
    }
  }
});
