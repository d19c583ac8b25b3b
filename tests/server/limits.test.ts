import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { pageFiles } from '../../src/node/page-files.ts';
import type { ModelServer } from '../../src/server/index.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { activeRequests, eventsOf, listen, post, tinyServer } from '../support/test-server.ts';
import { until } from '../support/hung.ts';

const CHAT = '/v1/chat/completions';
const ASK = { messages: [{ role: 'user', content: 'hi' }], temperature: 0, ignore_eos: true, max_tokens: 4 };
const LONG = { ...ASK, max_tokens: 100, stream: true };

async function errorOf(response: Response): Promise<Record<string, unknown>> {
  return ((await response.json()) as { error: Record<string, unknown> }).error;
}

/** Resolves when the server works on nothing. */
function untilIdle(server: ModelServer): Promise<void> {
  return until(
    () => 'requests are still there',
    async () => (await activeRequests(server)) === 0,
  );
}

/** What a server answers to bytes, until it closes the connection. */
async function exchange(url: string, bytes: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(bytes);
  return text(socket);
}

test('more requests than may wait are refused with 429, and told when to come back', async (t) => {
  const server = await tinyServer(t, { parallel: 1, queue: 1 });
  const [first, second] = [server.fetch(post(CHAT, LONG)), server.fetch(post(CHAT, ASK))];
  const refused = await server.fetch(post(CHAT, ASK));
  assert.equal(refused.status, 429);
  assert.ok(Number(refused.headers.get('retry-after')) >= 1);
  assert.equal((await errorOf(refused)).code, 'SERVER_BUSY');
  // What only counts tokens holds the thread, too.
  const counting = [post('/tokenize', { content: 'hi' }), post('/v1/messages/count_tokens', ASK)];
  for (const request of counting) assert.equal((await server.fetch(request)).status, 429);
  await (await first).text();
  assert.equal((await second).status, 200);
  assert.equal((await server.fetch(post(CHAT, ASK))).status, 200);
});

test('a request that takes too long is ended, in a stream by an event', async (t) => {
  // A slow machine may need more than that for the first token.
  let timeLimit = 2;
  let server = await tinyServer(t, { timeLimit, parallel: 1 });
  let streamed = await server.fetch(post(CHAT, LONG));
  while (streamed.status === 408) {
    timeLimit *= 4;
    server = await tinyServer(t, { timeLimit, parallel: 1 });
    streamed = await server.fetch(post(CHAT, LONG));
  }
  // Nobody reads: the text cannot end within its time.
  await new Promise((resolve) => setTimeout(resolve, 1100 * timeLimit));
  await untilIdle(server);
  const events = eventsOf(await streamed.text()) as { error?: { code: string } }[];
  assert.equal(events.at(-1)?.error?.code, 'REQUEST_TIMEOUT');
  const hasty = await tinyServer(t, { timeLimit: 0.02, parallel: 1 });
  const whole = await hasty.fetch(post(CHAT, { ...ASK, n: 100, max_tokens: 100 }));
  assert.deepEqual([whole.status, (await errorOf(whole)).code], [408, 'REQUEST_TIMEOUT']);
  await untilIdle(hasty);
});

test('a time limit that is longer than timers is none; one that is no time is refused', async (t) => {
  const server = await tinyServer(t, { timeLimit: 2 ** 40 });
  assert.equal((await server.fetch(post(CHAT, ASK))).status, 200);
  for (const timeLimit of [0, -1, Number.NaN]) {
    await assert.rejects(tinyServer(t, { timeLimit }), (error) =>
      isRocmforgeError(error, 'INVALID_ARGUMENT'),
    );
  }
});

test('an empty key is refused: anybody would have it', async (t) => {
  const opening = tinyServer(t, { keys: ['secret', ''] });
  await assert.rejects(opening, (error) => isRocmforgeError(error, 'INVALID_ARGUMENT'));
});

test('readers that do not read hold up nobody else', async (t) => {
  const server = await tinyServer(t, { parallel: 2 });
  const slow = await Promise.all([1, 2, 3].map(() => server.fetch(post(CHAT, LONG))));
  const response = await server.fetch(post(CHAT, { ...LONG, stream: false }));
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
  for (const late of slow) {
    const events = eventsOf(await late.text()) as { choices: { delta: { content?: string } }[] }[];
    const said = events.map(({ choices: [choice] }) => choice?.delta.content ?? '').join('');
    assert.equal(said, choices[0]?.message.content, 'what they read at last is whole');
  }
});

test('clients that vanish leave nothing behind', async (t) => {
  const server = await tinyServer(t, { parallel: 4 });
  const url = await listen(t, server);
  const body = JSON.stringify(LONG);
  const head = `POST ${CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  const clients = Array.from({ length: 24 }, async (_, i) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    if (i % 3 === 0) socket.write(head + body.slice(0, 10));
    else socket.write(head + body);
    if (i % 3 === 1) await new Promise((resolve) => socket.once('data', resolve));
    else await new Promise((resolve) => setTimeout(resolve, i));
    socket.destroy();
  });
  await Promise.all(clients);
  await untilIdle(server);
  assert.equal((await fetch(`${url}/health`)).status, 200);
  const after = await fetch(`${url}${CHAT}`, {
    method: 'POST',
    body: JSON.stringify(ASK),
    headers: { 'content-type': 'application/json' },
  });
  assert.equal(after.status, 200);
});

test('bodies of 100 MB are refused, declared or not', async (t) => {
  const url = await listen(t, await tinyServer(t));
  const megabyte = new Uint8Array(2 ** 20).fill(0x20);
  const headers = { 'content-type': 'application/json' };
  const declared = await fetch(`${url}${CHAT}`, {
    method: 'POST',
    headers,
    body: new Uint8Array(100 * 2 ** 20),
  }).catch(() => undefined);
  if (declared) assert.equal(declared.status, 413);
  let sent = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent++ < 100) controller.enqueue(megabyte);
      else controller.close();
    },
  });
  const init = { method: 'POST', headers, body: endless, duplex: 'half' };
  const streamed = await fetch(`${url}${CHAT}`, init as RequestInit).catch(() => undefined);
  if (streamed) assert.equal(streamed.status, 413);
  assert.equal((await fetch(`${url}/health`)).status, 200);
});

test('a declared body that is too large is told so at once', async (t) => {
  const url = await listen(t, await tinyServer(t, { maxBody: 100 }));
  const headers =
    'host: localhost\r\ncontent-type: application/json\r\ncontent-length: 101\r\nconnection: close';
  const answer = await exchange(url, `POST ${CHAT} HTTP/1.1\r\n${headers}\r\n\r\n${' '.repeat(101)}`);
  assert.match(answer, /^HTTP\/1\.1 413 /);
  assert.match(answer, /"REQUEST_TOO_LARGE"/);
});

test('garbage behind a request, headers without end and broken chunks get a proper status', async (t) => {
  const url = await listen(t, await tinyServer(t));
  const get = 'GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n';
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let answers = '';
  socket.on('data', (chunk: Buffer) => {
    answers += chunk.toString();
  });
  const closed = once(socket, 'close');
  const statuses = () => Array.from(answers.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status);
  socket.write(get + get);
  await until(
    () => `answered ${statuses().join()}`,
    () => statuses().length === 2,
  );
  socket.write('\u0000\u0001 garbage \r\n\r\n');
  await closed;
  assert.deepEqual(statuses(), ['200', '200', '400']);
  assert.match(await exchange(url, `${get}${get}\u0000\u0001 garbage \r\n\r\n`), /^HTTP\/1\.1 400 /);
  assert.match(await exchange(url, `GET / HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /);
  const chunked = `POST ${CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n`;
  assert.match(await exchange(url, chunked), /^HTTP\/1\.1 400 /);
  assert.equal((await fetch(`${url}/health`)).status, 200);
});

test('a head that never ends gets a proper status', async (t) => {
  const url = await listen(t, await tinyServer(t), { readSeconds: 1 });
  assert.match(await exchange(url, 'GET /health HTTP/1.1\r\nhost: localhost\r\n'), /^HTTP\/1\.1 408 /);
  assert.equal((await fetch(`${url}/health`)).status, 200);
});

test('pages of other origins are let in where they are named', async (t) => {
  const closed = await tinyServer(t);
  const origin = 'https://example.com';
  const plain = await closed.fetch(new Request('http://server/v1/models', { headers: { origin } }));
  assert.equal(plain.headers.get('access-control-allow-origin'), null);
  const open = await tinyServer(t, { origins: [origin], keys: ['k'] });
  const headers = {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization',
  };
  const preflight = await open.fetch(new Request(`http://server${CHAT}`, { method: 'OPTIONS', headers }));
  assert.equal(preflight.status, 200);
  assert.equal(preflight.headers.get('access-control-allow-origin'), origin);
  assert.equal(preflight.headers.get('access-control-allow-headers'), 'authorization');
  const other = await open.fetch(
    new Request('http://server/v1/models', { headers: { origin: 'https://other.com' } }),
  );
  assert.equal(other.headers.get('access-control-allow-origin'), null);
  const local = await tinyServer(t, { origins: ['localhost'] });
  const named = async (from: string) => {
    const response = await local.fetch(new Request('http://server/v1/models', { headers: { origin: from } }));
    return response.headers.get('access-control-allow-origin');
  };
  for (const from of ['http://localhost:3000', 'https://localhost', 'http://[::1]:80', 'http://127.0.0.1']) {
    assert.equal(await named(from), from);
  }
  for (const from of [
    'http://localhost.evil.com',
    'http://notlocalhost',
    'null',
    'http://evil.com/localhost',
  ]) {
    assert.equal(await named(from), null);
  }
  assert.equal(other.status, 401);
});

test('the files of a page are served where no endpoint is, and no others', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'secret.txt'), 'secret');
  const page = join(folder, 'page');
  assert.equal(pageFiles(page), undefined, 'a folder without a page');
  mkdirSync(page);
  const text = `<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'self'" /><title>x</title>`;
  writeFileSync(join(page, 'index.html'), text);
  writeFileSync(join(page, 'worker.js'), '');
  const models = join(folder, 'models');
  mkdirSync(models);
  writeFileSync(join(models, 'a.gguf'), 'GGUF');
  const server = await tinyServer(t, { page: pageFiles(page, models), keys: ['k'] });
  const get = (path: string) => server.fetch(new Request(`http://server${path}`));
  const index = await get('/');
  assert.deepEqual([index.status, await index.text()], [200, text]);
  assert.match(index.headers.get('content-type') ?? '', /^text\/html/);
  assert.equal(index.headers.get('cross-origin-embedder-policy'), 'require-corp');
  assert.equal(index.headers.get('content-security-policy'), "default-src 'self'; frame-ancestors 'none'");
  const worker = await get('/worker.js');
  assert.deepEqual([worker.status, worker.headers.get('content-security-policy')], [200, null]);
  assert.equal((await get('/v1/models')).status, 401, 'endpoints stay what they are');
  assert.equal(await (await get('/models/a.gguf')).text(), 'GGUF', 'a model that only the package has');
  for (const path of [
    '/none.js',
    '/models/b.gguf',
    '/models/%2e%2e/secret.txt',
    '/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/%2e%2e%2fsecret.txt',
  ])
    assert.equal((await get(path)).status, 404, path);
});

test('a server that drains finishes what it has begun and takes nothing new', async (t) => {
  const server = await tinyServer(t);
  const streamed = await server.fetch(post(CHAT, LONG));
  const drained = server.drain();
  const refused = await server.fetch(post(CHAT, ASK));
  assert.deepEqual([refused.status, (await errorOf(refused)).code], [503, 'SERVER_DRAINING']);
  assert.equal((await server.fetch(new Request('http://server/health'))).status, 503);
  assert.ok((await streamed.text()).endsWith('data: [DONE]\n\n'));
  await drained;
});
