import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Ollama } from 'ollama';
import { HttpListener } from '../../src/node/http-listener.ts';
import { modelFilesIn, servedModels } from '../../src/node/model-files.ts';
import { ModelFolder } from '../../src/node/model-folder.ts';
import { ModelServer } from '../../src/server/index.ts';
import { fixture } from '../support/fixture.ts';
import { tinyBytes } from '../support/tiny-model.ts';

// The package itself, unchanged, with every method but those of Ollama's own cloud (webSearch, webFetch).
let folder = '';
let server: ModelServer;
let listener: HttpListener;
let ollama: Ollama;
let bytes: Uint8Array;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rocmforge-ollama-'));
  bytes = await tinyBytes('Q8_0');
  writeFileSync(join(folder, 'tiny.gguf'), bytes);
  copyFileSync(fixture('families/bert.gguf'), join(folder, 'bert.gguf'));
  const options = { device: 'cpu', threads: 1 } as const;
  const discover = async () => servedModels(await modelFilesIn(folder), options);
  const files = new ModelFolder(folder);
  server = new ModelServer({ models: await discover(), discover, files, maxModels: 3, version: '1.2.3' });
  await server.loaded;
  listener = await HttpListener.open(server.fetch, { port: 0 });
  ollama = new Ollama({ host: listener.url });
});
after(async () => {
  await listener?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const OPTIONS = { temperature: 0, num_predict: 6 };
const MESSAGES = [{ role: 'user', content: 'hi' }];

test('chat and generate answer whole and streamed, with log-probabilities', async () => {
  const whole = await ollama.chat({ model: 'tiny', messages: MESSAGES, options: OPTIONS });
  assert.deepEqual([whole.model, whole.done, whole.eval_count], ['tiny', true, 6]);
  let text = '';
  for await (const part of await ollama.chat({
    model: 'tiny:latest',
    messages: MESSAGES,
    stream: true,
    options: OPTIONS,
  })) {
    text += part.message.content;
  }
  assert.equal(text, whole.message.content);
  const request = { model: 'tiny', prompt: 'hi', raw: true, options: OPTIONS };
  const generated = await ollama.generate({ ...request, logprobs: true, top_logprobs: 2 });
  assert.equal(generated.logprobs?.length, 6);
  for (const { logprob, top_logprobs } of generated.logprobs ?? []) {
    assert.equal(top_logprobs?.length, 2);
    assert.equal(logprob, Math.max(...(top_logprobs ?? []).map((top) => top.logprob)), 'greedy');
  }
  let pieces = '';
  let told = 0;
  for await (const part of await ollama.generate({ ...request, stream: true, logprobs: true })) {
    pieces += part.response;
    told += part.logprobs?.length ?? 0;
  }
  assert.deepEqual([pieces, told], [generated.response, 6]);
  const stopped = await ollama.chat({
    model: 'tiny',
    messages: MESSAGES,
    stream: true,
    options: { num_predict: 100 },
  });
  stopped.abort();
  await assert.rejects(
    async () => {
      for await (const _part of stopped);
    },
    { name: 'AbortError' },
  );
});

test('embed and embeddings give vectors of length 1', async () => {
  const { embeddings } = await ollama.embed({ model: 'bert', input: ['a b', 'b a'] });
  assert.equal(embeddings.length, 2);
  const { embedding } = await ollama.embeddings({ model: 'bert', prompt: 'a b' });
  assert.deepEqual(embedding, embeddings[0]);
  assert.ok(Math.abs(Math.hypot(...embedding) - 1) < 1e-5);
});

test('models are listed and shown with size, digest and details', async () => {
  const listed = async (name: string) => {
    const found = (await ollama.list()).models.find((model) => model.name === name);
    return found ?? assert.fail(name);
  };
  const tiny = await listed('tiny');
  assert.equal(tiny.size, bytes.length);
  const { family, quantization_level, parameter_size, format } = tiny.details;
  assert.deepEqual([family, quantization_level, format], ['llama', 'Q8_0', 'gguf']);
  assert.match(parameter_size, /^[\d.]+K$/);
  // Digests are computed one after another, on another thread.
  while (!(await listed('tiny')).digest) await new Promise(setImmediate);
  assert.equal((await listed('tiny')).digest, createHash('sha256').update(bytes).digest('hex'));
  assert.equal((await listed('bert')).details.family, 'bert');
  const shown = await ollama.show({ model: 'tiny' });
  assert.match(shown.template, /m\.role/);
  assert.deepEqual(shown.capabilities, ['completion']);
  assert.match(shown.parameters, /^num_ctx 128$/);
  assert.equal((shown.model_info as unknown as Record<string, unknown>)['general.architecture'], 'llama');
  assert.equal((await ollama.version()).version, '1.2.3');
});

test('keep_alive says when a model is unloaded', async () => {
  const loaded = async () => (await ollama.ps()).models.find(({ name }) => name === 'tiny');
  const ask = { model: 'tiny', messages: MESSAGES, options: OPTIONS };
  await ollama.chat({ ...ask, keep_alive: '1h' });
  const entry = await loaded();
  const minutes = (new Date(entry?.expires_at ?? 0).getTime() - Date.now()) / 60_000;
  assert.ok(minutes > 30 && minutes <= 60, `${minutes}`);
  assert.ok((entry?.size_vram ?? 0) > 0 && (entry?.size ?? 0) >= (entry?.size_vram ?? 0));
  await ollama.chat({ ...ask, keep_alive: -1 });
  assert.equal((await loaded())?.expires_at, undefined, 'forever');
  await ollama.chat({ ...ask, keep_alive: 0 });
  while (await loaded()) await new Promise(setImmediate);
  const load = await ollama.generate({ model: 'tiny', prompt: '', keep_alive: '10m' });
  assert.equal(load.done_reason, 'load');
  assert.ok(await loaded());
  const timed = await ollama.chat(ask);
  assert.ok(timed.total_duration >= timed.load_duration + timed.prompt_eval_duration + timed.eval_duration);
  assert.ok(timed.load_duration > 0 && timed.eval_duration > 0);
  const unload = await ollama.chat({ model: 'tiny', keep_alive: '0s' });
  assert.equal(unload.done_reason, 'unload');
  assert.equal(await loaded(), undefined);
  for (const keep_alive of ['soon', '5 m', '1x']) {
    await assert.rejects(ollama.chat({ ...ask, keep_alive }), { status_code: 400, message: /keep_alive/ });
  }
});

test('models are copied and deleted, and are there when they are pulled', async () => {
  assert.equal((await ollama.pull({ model: 'tiny' })).status, 'success');
  const lines: string[] = [];
  for await (const { status } of await ollama.pull({ model: 'tiny', stream: true })) lines.push(status);
  assert.equal(lines.at(-1), 'success');
  await ollama.copy({ source: 'tiny', destination: 'other' });
  const [one, other] = await Promise.all(
    ['tiny', 'other'].map((model) => ollama.chat({ model, messages: MESSAGES, options: OPTIONS })),
  );
  assert.equal(other?.message.content, one?.message.content);
  const refused = async (work: Promise<unknown>, status_code: number, message: RegExp) => {
    await assert.rejects(work, (error: Error & { status_code: number }) => {
      assert.deepEqual([error.status_code, message.test(error.message)], [status_code, true], error.message);
      return !error.message.includes(folder);
    });
  };
  await refused(ollama.copy({ source: 'tiny', destination: 'other' }), 400, /destination/);
  for (const destination of ['../out', '/tmp/out', 'a/b', '.hidden', '']) {
    await refused(ollama.copy({ source: 'tiny', destination }), 400, /destination/);
  }
  await refused(ollama.copy({ source: 'none', destination: 'new' }), 404, /none/);
  assert.equal((await ollama.delete({ model: 'other' })).status, 'success');
  assert.deepEqual(readdirSync(folder).sort(), ['bert.gguf', 'tiny.gguf']);
  await refused(ollama.delete({ model: 'other' }), 404, /other/);
  await refused(ollama.delete({ model: '../tiny' }), 404, /tiny/);
  await refused(ollama.chat({ model: 'other', messages: MESSAGES }), 404, /other/);
  await refused(ollama.pull({ model: 'llama3' }), 501, /not downloaded/);
  await refused(ollama.create({ model: 'mine', from: 'tiny', system: 'Be brief.' }), 501, /create mine/);
  await refused(ollama.push({ model: 'tiny' }), 501, /push tiny/);
  await refused(
    ollama.chat({ model: 'tiny', messages: MESSAGES, options: { num_ctx: 4096 } }),
    400,
    /num_ctx/,
  );
  assert.ok(existsSync(join(folder, 'tiny.gguf')));
});

test('files are left alone unless the server was told to manage them', async () => {
  const models = await servedModels([join(folder, 'tiny.gguf')], { device: 'cpu', threads: 1 });
  await using careful = new ModelServer({ models });
  const local = new Ollama({
    host: 'http://server',
    fetch: async (url, init) => careful.fetch(new Request(url as string, init)),
  });
  for (const work of [local.delete({ model: 'tiny' }), local.copy({ source: 'tiny', destination: 'b' })]) {
    await assert.rejects(work, { status_code: 501, message: /--manage-models/ });
  }
  assert.deepEqual(readdirSync(folder).sort(), ['bert.gguf', 'tiny.gguf']);
});
