import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { loadModelInWorker } from '../../src/index.ts';
import { AdapterFolder } from '../../src/node/adapter-folder.ts';
import { PrometheusMetrics } from '../../src/node/prometheus-metrics.ts';
import { ModelServer, type ServedModel } from '../../src/server/index.ts';
import { LORA_BASE, LORA_FILES } from '../support/lora-fixtures.ts';
import { type AdaptedGolden, readAdapted } from '../support/lora-tests.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { post, tinySource } from '../support/test-server.ts';

const OPTIONS = { device: 'cpu', threads: 1, cacheType: 'f32', context: 64, sequences: 2 } as const;

/** A model with one adapter and room for another, each load of which is counted, and a folder of adapters. */
async function adapterServer(t: TestContext) {
  const root = temporaryFolder(t);
  const folder = join(root, 'adapters');
  mkdirSync(folder);
  copyFileSync(LORA_FILES.second ?? '', join(folder, 'second.gguf'));
  copyFileSync(LORA_FILES.second ?? '', join(root, 'outside.gguf'));
  symlinkSync(join(root, 'outside.gguf'), join(folder, 'link.gguf'));
  let loads = 0;
  const base: ServedModel = {
    id: 'base',
    created: 0,
    adapters: ['first'],
    open: () => {
      loads++;
      const adapters = { first: LORA_FILES.first ?? '' };
      return loadModelInWorker(LORA_BASE, { ...OPTIONS, adapters, maxAdapters: 2 });
    },
  };
  const models = [base, tinySource('other')];
  const adapterFiles = await AdapterFolder.open(folder);
  const server = new ModelServer({ models, adapterFiles, parallel: 2, metrics: new PrometheusMetrics() });
  t.after(() => server[Symbol.asyncDispose]());
  const goldens = await readAdapted();
  const golden = (scales: object) => {
    const found = goldens.find(({ adapters }) => JSON.stringify(adapters) === JSON.stringify(scales));
    return found ?? assert.fail(JSON.stringify(scales));
  };
  return { root, folder, server, golden, loads: () => loads };
}

/** What the server continues a golden's prompt with, and under which name. */
async function said(server: ModelServer, { ids }: AdaptedGolden, fields: object) {
  const request = { prompt: ids, temperature: 0, max_tokens: 12, ignore_eos: true, ...fields };
  const response = await server.fetch(post('/v1/completions', request));
  const body = (await response.json()) as { model: string; choices: { text: string }[] };
  assert.equal(response.status, 200, JSON.stringify(body));
  return { model: body.model, text: body.choices[0]?.text.trim() };
}

async function send(server: ModelServer, path: string, body: unknown) {
  const response = await server.fetch(post(path, body));
  return { status: response.status, text: await response.text() };
}

test('adapters are models by their names, and their scales can be changed', async (t) => {
  const { server, golden } = await adapterServer(t);
  await using plain = await loadModelInWorker(LORA_BASE, OPTIONS);
  const whole = golden({ first: 1 });
  const text = plain.tokenizer.decode(whole.greedy).trim();
  // Before anything was loaded, too.
  assert.deepEqual(await said(server, whole, { model: 'first' }), { model: 'first', text });
  const bare = await said(server, whole, { model: 'base' });
  assert.notEqual(bare.text, text);
  assert.deepEqual(await said(server, whole, { model: 'first', lora: [] }), { ...bare, model: 'first' });
  const asked = { model: 'first', prompt: plain.tokenizer.decode(whole.ids), raw: true, stream: false };
  const ollama = await send(server, '/api/generate', { ...asked, options: { num_predict: 2 } });
  assert.match(ollama.text, /"model":"first"/);

  const scaled = await send(server, '/lora-adapters', [{ id: 0, scale: 1 }]);
  assert.deepEqual(scaled, { status: 200, text: '{"success":true}' });
  assert.deepEqual(await said(server, whole, {}), { model: 'base', text });
  const listed = await (await server.fetch(new Request('http://server/lora-adapters'))).json();
  assert.deepEqual(listed, [{ id: 0, name: 'first', scale: 1 }]);
  await send(server, '/models/unload', { model: 'base' });
  assert.deepEqual(
    await said(server, whole, {}),
    { model: 'base', text },
    'it is so when it is loaded again',
  );
  await send(server, '/lora-adapters', []);
  assert.deepEqual(await said(server, whole, {}), bare, 'what is not listed is not applied');
  const unknown = await send(server, '/lora-adapters', [{ id: 3, scale: 1 }]);
  assert.deepEqual([unknown.status, /"param":"0\.id"/.test(unknown.text)], [400, true]);
});

test('adapters are loaded and unloaded at run time, and come back with their model', async (t) => {
  const { server, golden, loads } = await adapterServer(t);
  const half = golden({ second: 0.5 });
  const lora = [{ id: 'second', scale: 0.5 }];
  const load = { lora_name: 'second', lora_path: 'second.gguf' };
  assert.equal((await server.fetch(post('/v1/completions', { model: 'second', prompt: 'a' }))).status, 404);
  const loaded = await send(server, '/v1/load_lora_adapter', load);
  assert.deepEqual(loaded, { status: 200, text: "Success: LoRA adapter 'second' added successfully." });
  await using plain = await loadModelInWorker(LORA_BASE, OPTIONS);
  const text = plain.tokenizer.decode(half.greedy).trim();
  assert.equal((await said(server, half, { lora })).text, text);
  const models = (await (await server.fetch(new Request('http://server/v1/models'))).json()) as {
    data: { id: string; parent?: string }[];
  };
  assert.deepEqual(
    models.data.map(({ id, parent }) => [id, parent]),
    [
      ['base', undefined],
      ['first', 'base'],
      ['second', 'base'],
      ['other', undefined],
    ],
  );
  const metrics = await (await server.fetch(new Request('http://server/metrics'))).text();
  assert.match(metrics, /vllm:lora_requests_info\{model_name="base",max_lora="2",/);

  assert.equal(loads(), 1, 'the model was not loaded again for it');
  await send(server, '/models/unload', { model: 'base' });
  assert.equal((await said(server, half, { model: 'second', lora })).text, text);
  assert.equal(loads(), 2);
  const refusals: readonly [string, object, number, RegExp][] = [
    ['load', load, 400, /lora_name.*load_inplace/],
    ['load', { ...load, lora_name: 'base' }, 400, /lora_name.*model base/],
    ['load', { ...load, lora_name: 'third' }, 409, /third.*room for 2/],
    ['unload', { lora_name: 'third' }, 404, /third/],
  ];
  for (const [does, body, status, message] of refusals) {
    const answer = await send(server, `/v1/${does}_lora_adapter`, body);
    assert.deepEqual([answer.status, message.test(answer.text)], [status, true], answer.text);
  }
  assert.equal((await send(server, '/v1/load_lora_adapter', { ...load, load_inplace: true })).status, 200);
  const unloaded = await send(server, '/v1/unload_lora_adapter', { lora_name: 'second' });
  assert.equal(unloaded.status, 200, unloaded.text);
  await send(server, '/models/unload', { model: 'base' });
  const gone = await server.fetch(post('/v1/completions', { model: 'second', prompt: 'a' }));
  assert.equal(gone.status, 404);
});

test('only files of the folder are loaded, and none without one', async (t) => {
  const { root, folder, server } = await adapterServer(t);
  const load = (lora_path: string) =>
    send(server, '/v1/load_lora_adapter', { lora_name: 'second', lora_path });
  const outside = [
    '../outside.gguf',
    join(root, 'outside.gguf'),
    'link.gguf',
    '/etc/passwd',
    '.',
    folder,
    'a\0b',
  ];
  for (const path of [...outside, 'none.gguf']) {
    const { status, text } = await load(path);
    assert.deepEqual(
      [status, /lora_path/.test(text), text.includes(root)],
      [400, true, false],
      `${path}: ${text}`,
    );
  }
  assert.equal((await load(join(folder, 'second.gguf'))).status, 200, 'an absolute path into it');
  const careful = new ModelServer({ models: [tinySource('tiny')] });
  t.after(() => careful[Symbol.asyncDispose]());
  for (const does of ['load', 'unload']) {
    const answer = await send(careful, `/v1/${does}_lora_adapter`, { lora_name: 'a', lora_path: 'a.gguf' });
    assert.deepEqual([answer.status, /--lora-folder/.test(answer.text)], [501, true], answer.text);
  }
});
