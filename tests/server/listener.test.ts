import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, request as ask, type RequestOptions } from 'node:http';
import { request as askSecurely } from 'node:https';
import { connect, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { HttpListener } from '../../src/node/http-listener.ts';
import { fixture } from '../support/fixture.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { listen, tinyServer } from '../support/test-server.ts';

/** What is answered to a request of raw bytes, by a client that ends its side behind them. */
async function exchange(url: string, bytes: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.end(bytes);
  return text(socket);
}

async function answerOf(
  asked: ReturnType<typeof ask>,
): Promise<{ status: number | undefined; body: string }> {
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return { status: response.statusCode, body: await text(response) };
}

test('a name that is none of the server is refused, and so are two', async (t) => {
  const server = await tinyServer(t);
  const url = await listen(t, server, { allowedHosts: ['models.example', '.inside.example'] });
  const statusOf = async (host: string) => {
    const answer = await exchange(url, `GET /livez HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
    return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
  };
  const allowed = ['localhost', 'LOCALHOST:80', 'a.localhost', '127.0.0.1', '192.168.1.7:8080', '[::1]:80'];
  for (const host of [...allowed, 'models.example:1', 'a.inside.example', 'inside.example'])
    assert.equal(await statusOf(host), 200, host);
  for (const host of ['evil.example', 'localhost.evil.example', 'xinside.example', 'models.example.evil'])
    assert.equal(await statusOf(host), 403, host);
  const two = 'GET /livez HTTP/1.1\r\nhost: localhost\r\nHost: 127.0.0.1\r\n\r\n';
  assert.match(await exchange(url, two), /^HTTP\/1\.1 400 /);
  const any = await listen(t, server, { allowedHosts: ['*'] });
  assert.match(
    await exchange(any, 'GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'),
    /^HTTP\/1\.1 200 /,
  );
});

test('header names are written as most clients write them', async (t) => {
  const url = await listen(t, await tinyServer(t));
  const answer = await exchange(
    url,
    'GET /v1/models HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n',
  );
  assert.match(answer, /\r\nContent-Type: application\/json\r\n/);
  assert.match(answer, /\r\nX-Request-Id: req_/);
  const stream = 'POST /completion HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n';
  const body = '{"prompt":"hi","n_predict":2,"stream":true}';
  const events = await exchange(
    url,
    `${stream}content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  );
  assert.match(events, /\r\nContent-Type: text\/event-stream/);
  assert.doesNotMatch(/^.*?\r\n\r\n/s.exec(events)?.[0] ?? '', /\r\n[a-z]/);
});

test('it listens at several addresses, at the same port, or at none', async (t) => {
  const addresses = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  if (!addresses.some(({ address }) => address === '::1')) return t.skip('there is no IPv6 loopback');
  const server = await tinyServer(t);
  const host = ['::1', '127.0.0.1'];
  {
    await using listener = await HttpListener.open(server.fetch, { host, port: 0 });
    const [first, second] = listener.urls.map((url) => new URL(url));
    assert.deepEqual([first?.hostname, second?.hostname], ['[::1]', '127.0.0.1']);
    assert.equal(first?.port, second?.port);
    for (const url of listener.urls) assert.equal((await fetch(`${url}/livez`)).status, 200);
  }
  await using taken = await HttpListener.open(server.fetch, { host: '127.0.0.1', port: 0 });
  const port = Number(new URL(taken.url).port);
  await assert.rejects(HttpListener.open(server.fetch, { host, port }), (error) =>
    isRocmforgeError(error, 'ADDRESS_IN_USE'),
  );
  await using free = await HttpListener.open(server.fetch, { host: '::1', port });
  assert.equal(new URL(free.url).port, `${port}`);
});

test('a client that has ended its side gets its answer', async (t) => {
  const url = await listen(t, await tinyServer(t));
  const body = JSON.stringify({ prompt: 'hi', max_tokens: 50, ignore_eos: true });
  const head = `host: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close`;
  const answer = await exchange(url, `POST /v1/completions HTTP/1.1\r\n${head}\r\n\r\n${body}`);
  assert.match(answer, /HTTP\/1\.1 200 OK/);
  assert.match(answer, /"completion_tokens":50/);
});

test('a connection whose request was answered before its body was read serves the next one', async (t) => {
  const listener = await HttpListener.open(
    async ({ url, body }) => {
      await body?.getReader().read();
      return new Response(`answer to ${new URL(url).pathname}`);
    },
    { port: 0 },
  );
  t.after(() => listener[Symbol.asyncDispose]());
  const length = 1 << 20;
  const first = `POST /first HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${length}\r\n\r\n${'x'.repeat(length)}`;
  const second = 'GET /second HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n';
  const answers = await exchange(listener.url, first + second);
  assert.deepEqual(answers.match(/answer to .(first|second)/g), ['answer to /first', 'answer to /second']);
});

test('methods that an address does not have are told, with and without a body', async (t) => {
  const url = await listen(t, await tinyServer(t));
  const options = await fetch(`${url}/v1/embeddings`, { method: 'OPTIONS' });
  assert.deepEqual([options.status, options.headers.get('allow')], [204, 'POST']);
  assert.equal((await fetch(`${url}/none`, { method: 'OPTIONS' })).status, 404);
  for (const method of ['PUT', 'DELETE', 'PATCH']) {
    for (const path of ['/v1/chat/completions', '/v1/models/tiny', '/health']) {
      const refused = await fetch(`${url}${path}`, { method });
      assert.equal(refused.status, 405, `${method} ${path}`);
      assert.ok(refused.headers.get('allow'));
    }
    assert.equal((await fetch(`${url}/none`, { method })).status, 404);
  }
  const raw = 'PUT /v1/models HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n';
  assert.match(await exchange(url, raw), /^HTTP\/1\.1 405 /);
  assert.equal((await fetch(`${url}/v1/chat/completions`, { method: 'POST' })).status, 400);
  const headers = { 'content-type': 'application/json' };
  assert.equal((await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers })).status, 400);
});

test('it listens at a Unix socket, also where a dead server left one, but not where another listens', async (t) => {
  const unixSocket = join(temporaryFolder(t), 'socket');
  const dead = createServer().listen(unixSocket);
  await once(dead, 'listening');
  const server = await tinyServer(t);
  await assert.rejects(HttpListener.open(server.fetch, { unixSocket }), (error) =>
    isRocmforgeError(error, 'ADDRESS_IN_USE'),
  );
  dead.close();
  await using listener = await HttpListener.open(server.fetch, { unixSocket });
  assert.equal(listener.url, `unix:${unixSocket}`);
  assert.equal((await answerOf(ask({ socketPath: unixSocket, path: '/livez' }))).status, 200);
});

test('it speaks HTTPS with a certificate, and refuses what is none', async (t) => {
  const [cert, key] = ['cert', 'key'].map((name) => readFileSync(fixture(`tls/${name}.pem`), 'utf8')) as [
    string,
    string,
  ];
  const server = await tinyServer(t);
  const url = await listen(t, server, { tls: { cert, key } });
  assert.match(url, /^https:/);
  const trusted: RequestOptions & { ca: string } = { ca: cert };
  assert.deepEqual(await answerOf(askSecurely(`${url}/livez`, trusted)), {
    status: 200,
    body: '{"status":"alive"}',
  });
  const broken = HttpListener.open(server.fetch, { port: 0, tls: { cert, key: 'none' } });
  await assert.rejects(broken, (error) => isRocmforgeError(error, 'INVALID_ARGUMENT'));
});

test("a request keeps its client's name, in answers and errors; one that could be anything gets another", async (t) => {
  const server = await tinyServer(t);
  const named = async (path: string, id: string) => {
    const response = await server.fetch(
      new Request(`http://server${path}`, { headers: { 'x-request-id': id } }),
    );
    return response.headers.get('x-request-id');
  };
  assert.equal(await named('/v1/models', 'mine-1'), 'mine-1');
  assert.equal(await named('/v1/models/none', 'mine-2'), 'mine-2');
  for (const id of ['', 'a b', 'x'.repeat(200)])
    assert.match((await named('/v1/models', id)) ?? '', /^req_[\da-f]{32}$/);
});
