import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { HttpRangeSource } from '../../../src/io/index.ts';
import { loadModel, type PullProgress } from '../../../src/index.ts';
import { HttpClient } from '../../../src/node/hub/http-client.ts';
import { remoteFetch } from '../../../src/node/hub/remote-fetch.ts';
import { COMMIT, type HubServer, startHub } from '../../support/hub/hub-server.ts';
import { hubEnvironment, randomBytes } from '../../support/hub/pulling.ts';
import { HUNG_MS } from '../../support/hung.ts';
import { tinyBytes } from '../../support/tiny-model.ts';

const CONTENT = randomBytes(900_000, 8);
const BLOCK = 100_000;

async function start(
  t: TestContext,
  idleMs = HUNG_MS,
): Promise<{ server: HubServer; open(): Promise<HttpRangeSource> }> {
  const server = await startHub(t, { 'user/big': { 'big-Q4_0.gguf': CONTENT } });
  const client = new HttpClient({ idleMs, environment: {} });
  t.after(() => client[Symbol.dispose]());
  const url = `${server.url}/user/big/resolve/${COMMIT}/big-Q4_0.gguf`;
  const headers = { authorization: 'Bearer me' };
  const open = () => HttpRangeSource.open(url, { fetch: remoteFetch(client), blockBytes: BLOCK, headers });
  return { server, open };
}

async function isRead(source: HttpRangeSource): Promise<void> {
  const into = new Uint8Array(CONTENT.length - BLOCK);
  await source.read(BLOCK, into);
  assert.deepEqual(into, CONTENT.subarray(BLOCK));
}

test('a remote file is read through cuts and busy servers, its redirect followed once', async (t) => {
  const { server, open } = await start(t);
  server.behaviour.refusals = { status: 503, count: 1, retryAfter: '0' };
  await using source = await open();
  server.behaviour.cuts = { after: 300_000, count: 2 };
  await isRead(source);
  server.behaviour.storageRefusals = { status: 429, count: 1, retryAfter: '0' };
  await isRead(source);
  const resolved = server.asked.filter(({ at }) => at === 'hub');
  assert.equal(resolved.length, 2, 'the refusal, and the redirect');
  assert.ok(
    server.asked.every(({ at, authorization }) => (authorization === undefined) === (at === 'storage')),
  );
});

test('a connection that stands still is left, and the read goes on', async (t) => {
  const { server, open } = await start(t, 200);
  await using source = await open();
  server.behaviour.stalls = { after: 200_000, count: 1 };
  await isRead(source);
  assert.equal(server.behaviour.stalls.count, 0);
});

test('when a signed address expires, the hub is asked for another', async (t) => {
  const { server, open } = await start(t);
  server.behaviour.signatureUses = 2;
  await using source = await open();
  for (let i = 0; i < 3; i++) await isRead(source);
  assert.equal(server.asked.filter(({ at }) => at === 'hub').length, 2);
});

test('a file that changes while a connection is continued is refused', async (t) => {
  const { server, open } = await start(t);
  await using source = await open();
  const then = () => {
    server.behaviour.etag = () => '"another"';
  };
  server.behaviour.cuts = { after: 300_000, count: 1, then };
  await assert.rejects(isRead(source), { code: 'SOURCE_CHANGED' });
});

test('a server that stays away is given up', async (t) => {
  const { server, open } = await start(t);
  server.behaviour.storageRefusals = { status: 404, count: 1 };
  await assert.rejects(open(), { code: 'HTTP_STATUS', message: /404/ });
});

test('loadModel pulls a model that is named, tells how far it is, and finds it the next time', async (t) => {
  const bytes = await tinyBytes('Q8_0');
  const server = await startHub(t, { 'user/tiny': { 'tiny-Q8_0.gguf': bytes } });
  Object.assign(process.env, hubEnvironment(t, server));
  const seen: PullProgress[] = [];
  const options = { device: 'reference', onPull: (progress: PullProgress) => seen.push(progress) };
  await using first = await loadModel('hf:user/tiny', options);
  assert.equal(first.gguf.byteLength, bytes.length);
  assert.equal(seen.at(-1)?.bytes, bytes.length);
  const requests = server.asked.length;
  await using again = await loadModel('hf:user/tiny:Q8_0', options);
  assert.equal(again.gguf.name, first.gguf.name);
  assert.equal(server.asked.length, requests);
});
