import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as immediate } from 'node:timers/promises';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { KeptStream, KeptStreams } from '../../src/server/kept-streams.ts';
import type { ModelServer, ServedModel } from '../../src/server/index.ts';
import { activeRequests, post, tinyServer, tinySource } from '../support/test-server.ts';

const BODY = { prompt: 'hi', temperature: 0, ignore_eos: true, stream: true, logit_bias: { 68: 50 } };
const NAMED = { headers: { 'x-conversation-id': 'a::b/c:D' } };

async function again(server: ModelServer, from = 0, key?: string): Promise<Response> {
  const query = `conv_id=${encodeURIComponent('a::b/c:D')}&from=${from}`;
  const headers: HeadersInit = key === undefined ? {} : { authorization: `Bearer ${key}` };
  return server.fetch(new Request(`http://server/v1/stream?${query}`, { headers }));
}

async function stop(server: ModelServer): Promise<number> {
  const url = `http://server/v1/stream?conv_id=${encodeURIComponent('a::b/c:D')}`;
  return (await server.fetch(new Request(url, { method: 'DELETE' }))).status;
}

test('a stream goes on without its client, and is sent again from any byte', async (t) => {
  const server = await tinyServer(t);
  assert.equal((await again(server)).status, 404);
  const leaving = new AbortController();
  const body = { ...BODY, max_tokens: 100 };
  const response = await server.fetch(post('/v1/completions', body, { ...NAMED, signal: leaving.signal }));
  const reader = response.body?.getReader();
  const begun = new TextDecoder().decode((await reader?.read())?.value);
  leaving.abort();
  await reader?.cancel();
  const whole = await (await again(server)).text();
  assert.ok(whole.startsWith(begun));
  assert.ok(whole.endsWith('data: [DONE]\n\n'), whole.slice(-200));
  assert.equal(whole.match(/"text":"A"/g)?.length, 100);
  assert.equal(await (await again(server, 1000)).text(), whole.slice(1000));
  assert.equal((await again(server, whole.length + 1)).status, 400);
  assert.equal(await stop(server), 204);
  assert.equal((await again(server)).status, 404);
  assert.equal(await stop(server), 204);
});

test('a stream is stopped by its name, before it begins as well', async (t) => {
  // Its load takes until the server ends.
  const late: ServedModel = {
    ...tinySource('slow'),
    open: ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('not loaded')));
      }),
  };
  const server = await tinyServer(t, { models: [tinySource('tiny'), late], maxModels: 2, preload: ['tiny'] });
  const waiting = server.fetch(post('/v1/completions', { ...BODY, model: 'slow' }, NAMED));
  while ((await again(server)).status !== 503) await immediate();
  assert.equal(await stop(server), 204);
  const refused = await waiting;
  const { error } = (await refused.json()) as { error: { code: string; message: string } };
  assert.deepEqual([refused.status, error.code], [400, 'STREAM_CANCELLED']);
  assert.match(error.message, /cancelled/);
  assert.equal((await again(server)).status, 404);
  // One that has begun, by another request of its name.
  const first = await server.fetch(post('/v1/completions', { ...BODY, max_tokens: 100 }, NAMED));
  const reader = first.body?.getReader();
  await reader?.read();
  const second = await server.fetch(post('/v1/completions', { ...BODY, max_tokens: 1 }, NAMED));
  const text = await second.text();
  assert.equal(await (await again(server)).text(), text);
  while (!(await reader?.read())?.done);
  while ((await activeRequests(server)) > 0) await immediate();
});

test('a stream is its key’s own, and a failed request leaves none', async (t) => {
  const server = await tinyServer(t, { keys: ['one', 'two'] });
  const of = (key: string) => ({ headers: { ...NAMED.headers, authorization: `Bearer ${key}` } });
  await (await server.fetch(post('/completion', { ...BODY, n_predict: 2 }, of('one')))).text();
  assert.equal((await again(server, 0, 'one')).status, 200);
  assert.equal((await again(server, 0, 'two')).status, 404);
  assert.equal((await again(server)).status, 401);
  const failed = await server.fetch(post('/completion', { ...BODY, prompt: [-1] }, of('two')));
  assert.equal(failed.status, 400);
  assert.equal((await again(server, 0, 'two')).status, 404);
});

test('a key that begins many streams displaces its own, not those of others', () => {
  const streams = new KeptStreams();
  const begin = (owner: string, name: string, isEnded = true) => {
    const request = new Request('http://server', { headers: { 'x-conversation-id': name } });
    const stream = streams.begin({ request, caller: { owner }, abort: () => undefined });
    if (isEnded) stream?.end();
    return stream;
  };
  const theirs = ['x', 'y'].map((name) => begin('quiet', name));
  const running = begin('loud', 'running', false);
  for (let i = 0; i < 100; i++) assert.ok(begin('loud', `${i}`));
  assert.deepEqual(
    ['x', 'y'].map((name) => streams.find('quiet', name)),
    theirs,
  );
  assert.equal(streams.find('loud', 'running'), running);
  assert.equal(streams.find('loud', '0'), undefined);
  assert.ok(streams.find('loud', '99'));
  for (let i = 0; i < 40; i++) begin('loud', `running ${i}`.replace(' ', '-'), false);
  assert.equal(begin('loud', 'one more', false), undefined, 'no room beside those that go on');
});

test('what is kept is bounded, and readers who are too late are told', async () => {
  const streams = new KeptStreams();
  const begin = (name: string) => {
    const request = new Request('http://server', { headers: { 'x-conversation-id': name } });
    return streams.begin({ request, caller: { owner: 'o' }, abort: () => {} });
  };
  const all = Array.from({ length: 32 }, (_, at) => begin(`s${at}`));
  assert.equal(begin('more'), undefined);
  all[5]?.end();
  assert.ok(begin('more') instanceof KeptStream);
  assert.equal(streams.find('o', 's5'), undefined);
  assert.ok(streams.find('o', 's6'));
  assert.equal(begin('with space'), undefined);
  const stream = new KeptStream(() => {});
  const reader = stream.read(0);
  const mebibyte = new Uint8Array(2 ** 20);
  for (let at = 0; at < 5; at++) stream.write(mebibyte);
  await assert.rejects(reader.next(), (error) => isRocmforgeError(error, 'STREAM_LOST'));
  assert.deepEqual([stream.has(0), stream.has(2 ** 20), stream.has(5 * 2 ** 20)], [false, true, true]);
  stream.end();
  let length = 0;
  for await (const bytes of stream.read(3 * 2 ** 20 + 7)) length += bytes.length;
  assert.equal(length, 2 * 2 ** 20 - 7);
});
