import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { F32 } from '../../src/formats/index.ts';
import { loadModel } from '../../src/index.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import { writeSyntheticModel } from '../../src/node/write-synthetic-model.ts';
import { ModelServer } from '../../src/server/index.ts';
import { LORA_BASE, LORA_FILES, writeAdapter } from '../support/lora-fixtures.ts';
import { readAdapted } from '../support/lora-tests.ts';
import { temporaryFolder } from '../support/temporary.ts';
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

/** Where each API of conversations wants the same question, and what it says of the answer's length. */
const CONVERSATIONS: Readonly<Record<string, object>> = {
  '/v1/chat/completions': { messages: [{ role: 'user', content: 'taro' }], max_tokens: 8 },
  '/v1/messages': { messages: [{ role: 'user', content: 'taro' }], max_tokens: 8 },
  '/v1/responses': { input: 'taro', max_output_tokens: 8 },
};

test('conversations choose adapters whatever the API', async (t) => {
  const folder = temporaryFolder(t);
  const [path, adapter] = [join(folder, 'base.gguf'), join(folder, 'lora.gguf')];
  const shape = syntheticShape('tiny', { vocabulary: 512 });
  await writeSyntheticModel({ path, name: 'tiny', shape, format: F32, seed: 3 });
  await writeAdapter(adapter, { rank: 4, alpha: 32, targets: /attn_|ffn_/, seed: 5 }, path);
  const options = { device: 'cpu', threads: 1, context: 64, adapters: { strong: adapter } } as const;
  const server = new ModelServer({
    models: [{ id: 'base', created: 0, open: () => loadModel(path, options) }],
    parallel: 1,
  });
  t.after(() => server[Symbol.asyncDispose]());
  const said = async (api: string, lora: unknown) => {
    const response = await server.fetch(post(api, { ...CONVERSATIONS[api], temperature: 0, lora }));
    const body = await response.text();
    assert.equal(response.status, 200, body);
    return textsOf(JSON.parse(body)).join('');
  };
  const chosen = [{ id: 'strong', scale: 1 }];
  const [plain, adapted] = [
    await said('/v1/chat/completions', []),
    await said('/v1/chat/completions', chosen),
  ];
  assert.notEqual(adapted, plain);
  for (const api of ['/v1/messages', '/v1/responses']) {
    assert.equal(await said(api, []), plain, api);
    assert.equal(await said(api, chosen), adapted, api);
    const refused = await server.fetch(post(api, { ...CONVERSATIONS[api], lora: [{ id: 7, scale: 1 }] }));
    assert.equal(refused.status, 400, api);
    assert.match(await refused.text(), /lora\.0\.id.*there is no adapter 7/);
  }
});

/** The answer's text in the shape of any API. */
function textsOf(body: {
  choices?: { message: { content: string } }[];
  content?: { text: string }[];
  output?: { content: { text: string }[] }[];
}): string[] {
  if (body.choices) return body.choices.map(({ message }) => message.content);
  return (body.content ?? body.output?.flatMap(({ content }) => content) ?? []).map(({ text }) => text);
}
