import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { LanguageModel, LoadModelOptions } from '../../src/index.ts';
import { loadModel } from '../../src/index.ts';
import { familyPaths } from '../support/family-fixtures.ts';
import { PROMPT, RWKV7 as MODEL } from '../support/prompt-chunk-tests.ts';

function open(options: LoadModelOptions & { device: string }): Promise<LanguageModel> {
  return loadModel(MODEL, options);
}

async function generated(
  model: LanguageModel,
  prompt: readonly number[],
  maxTokens: number,
): Promise<number[]> {
  const ids: number[] = [];
  for await (const { token } of model.generate(prompt, { maxTokens, temperature: 0, ignoreEnd: true })) {
    if (token) ids.push(token.id);
  }
  return ids;
}

test('sequences of different lengths side by side are what each is alone', async () => {
  const prompts = [PROMPT.slice(0, 3), PROMPT, PROMPT.slice(20, 29), [7]];
  const alone: number[][] = [];
  for (const prompt of prompts) {
    await using model = await open({ device: 'cpu', context: 64 });
    alone.push(await generated(model, prompt, 12));
  }
  await using model = await open({ device: 'cpu', context: 64, sequences: 3, batch: 8 });
  const together = await Promise.all(prompts.map((prompt) => generated(model, prompt, 12)));
  assert.deepEqual(together, alone);
});

test('what a slot held before does not show in the next text', async () => {
  await using fresh = await open({ device: 'cpu', context: 64 });
  const expected = await generated(fresh, PROMPT.slice(0, 20), 8);
  await using model = await open({ device: 'cpu', context: 64 });
  const first = await generated(model, PROMPT.slice(0, 16), 8);
  assert.equal(first.length, 8);
  // Shares a beginning with the text before, but a state cannot go back to it.
  assert.deepEqual(await generated(model, PROMPT.slice(0, 20), 8), expected);
  assert.deepEqual(await generated(model, PROMPT.slice(0, 20), 8), expected);
});

test('a million positions take the memory of a state and of their ids', async () => {
  const fit = async (context: number) => {
    await using model = await open({ device: 'null', context });
    return model.fit;
  };
  const [short, long] = [await fit(1000), await fit(1_000_000)];
  const history = 4 * (1_000_000 - 1000);
  assert.ok(Math.abs(long.cache - short.cache - history) < 1024, `${long.cache - short.cache} bytes more`);
});

for (const device of ['cpu', 'reference']) {
  test(`a state saved and restored goes on as if never interrupted on ${device}`, async () => {
    const [held, prompt] = [PROMPT.slice(0, 20), PROMPT.slice(0, 30)];
    await using whole = await open({ device, context: 64 });
    const expected = await generated(whole, prompt, 8);
    await using model = await open({ device, context: 64, sequences: 2 });
    const snapshot = await model.saveState(held);
    await generated(model, PROMPT.slice(5), 3);
    await model.restoreState(snapshot);
    assert.deepEqual(await generated(model, prompt, 8), expected);
    // Two sequences go on from one state, in two slots.
    model.reset();
    await model.restoreState(snapshot);
    await model.restoreState(snapshot);
    const other = [...held, 1, 2, 3];
    const both = await Promise.all([generated(model, prompt, 8), generated(model, other, 8)]);
    assert.deepEqual(both, [expected, await generated(whole, other, 8)]);
  });
}

test('a restored state is what goes on, not the ids computed again', async () => {
  await using model = await open({ device: 'cpu', context: 64 });
  const { ids, states } = await model.saveState(PROMPT.slice(0, 20));
  const likelihood = async () => {
    const options = { maxTokens: 1, temperature: 0, ignoreEnd: true, logProbabilities: 0 };
    for await (const { token } of model.generate(PROMPT.slice(0, 21), options)) return token?.logProbability;
    return undefined;
  };
  const expected = await likelihood();
  model.reset();
  await model.restoreState({ ids, states: states.map((state) => new Uint8Array(state.length)) });
  assert.notEqual(await likelihood(), expected);
  model.reset();
  await model.restoreState({ ids, states });
  assert.equal(await likelihood(), expected);
});

test('states of other models, and of encoders, are refused', async () => {
  await using model = await open({ device: 'cpu', context: 64 });
  const { ids, states } = await model.saveState([1, 2, 3]);
  const foreign = { ids, states: states.slice(1) };
  await assert.rejects(model.restoreState(foreign), (error) => isRocmforgeError(error, 'INVALID_ARGUMENT'));
  await using encoder = await loadModel(familyPaths({ name: 'bert', sizes: {} }).model, { device: 'cpu' });
  await assert.rejects(encoder.saveState(ids), (error) => isRocmforgeError(error, 'GENERATION_UNSUPPORTED'));
});

test('a state goes on behind a million positions as behind a few', async () => {
  const [held, next] = [PROMPT.slice(0, 20), [5, 9]];
  await using model = await open({ device: 'cpu', context: 1_000_100 });
  const { ids, states } = await model.saveState(held);
  await model.restoreState({ ids, states });
  const expected = await generated(model, [...held, ...next], 8);
  model.reset();
  const long = Array.from({ length: 1_000_000 }, (_, i) => i % 61);
  await model.restoreState({ ids: long, states });
  assert.deepEqual(await generated(model, [...long, ...next], 8), expected);
});
