import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadModel } from '../../src/index.ts';
import { ModelServer } from '../../src/server/index.ts';
import { LORA_BASE, LORA_FILES } from '../support/lora-fixtures.ts';
import { readAdapted } from '../support/lora-tests.ts';
import { post } from '../support/test-server.ts';

test('requests choose among the adapters that the server was started with', async (t) => {
  const adapters = { first: { location: LORA_FILES.first ?? '', scale: 1 }, second: LORA_FILES.second ?? '' };
  const options = {
    device: 'cpu',
    threads: 1,
    cacheType: 'f32',
    context: 64,
    sequences: 4,
    adapters,
  } as const;
  const model = { id: 'base', created: 0, open: () => loadModel(LORA_BASE, options) };
  const server = new ModelServer({ models: [model], parallel: 4 });
  t.after(() => server[Symbol.asyncDispose]());
  const listed = await (await server.fetch(new Request('http://server/lora-adapters'))).json();
  assert.deepEqual(listed, [
    { id: 0, name: 'first', scale: 1 },
    { id: 1, name: 'second', scale: 0 },
  ]);
  const complete = (prompt: readonly number[], lora: unknown) =>
    server.fetch(post('/v1/completions', { prompt, lora, temperature: 0, max_tokens: 12, ignore_eos: true }));
  const said = async (prompt: readonly number[], lora: unknown) => {
    const response = await complete(prompt, lora);
    assert.equal(response.status, 200, await response.clone().text());
    return ((await response.json()) as { choices: { text: string }[] }).choices[0]?.text;
  };
  await using plain = await loadModel(LORA_BASE, { ...options, adapters: {} });
  const goldens = await readAdapted();
  const texts = goldens.map(({ greedy }) => plain.tokenizer.decode(greedy));
  const chosen = goldens.map(({ adapters: scales }) => [
    { id: 0, scale: scales.first ?? 0 },
    { id: 'second', scale: scales.second ?? 0 },
  ]);
  const answers = await Promise.all(goldens.map(({ ids }, i) => said(ids, chosen[i])));
  assert.deepEqual(
    answers.map((text) => text?.trim()),
    texts.map((text) => text.trim()),
  );
  const ids = goldens[0]?.ids ?? [];
  assert.deepEqual(goldens[0]?.adapters, { first: 1 });
  assert.equal(await said(ids, undefined), answers[0], 'without a choice, as the server was started');
  const none = await (
    await server.fetch(post('/v1/completions', { prompt: ids, lora: [], temperature: 0, max_tokens: 12 }))
  ).json();
  assert.notEqual((none as { choices: { text: string }[] }).choices[0]?.text, answers[0]);
  const refused = await complete(ids, [{ id: 2, scale: 1 }]);
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /lora\.0\.id.*there is no adapter 2, but first, second/);
});
