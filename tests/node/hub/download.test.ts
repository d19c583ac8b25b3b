import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { isRocmforgeError } from '../../../src/base/errors.ts';
import { readJournal } from '../../../src/node/hub/download-journal.ts';
import { type HubServer, sha256Of, startHub } from '../../support/hub/hub-server.ts';
import { hubEnvironment, pullWith, randomBytes, rangesAsked } from '../../support/hub/pulling.ts';

const CONTENT = randomBytes(3_000_000, 7);
const HASH = sha256Of(CONTENT);
/** The request for a file where it is stored, without a hub. */
const NAME = 'user/big:Q4_0';

async function start(
  t: TestContext,
): Promise<{ server: HubServer; environment: Record<string, string>; blobs: string }> {
  const server = await startHub(t, { 'user/big': { 'big-Q4_0.gguf': CONTENT } });
  const environment = hubEnvironment(t, server);
  return { server, environment, blobs: join(environment.HF_HOME ?? '', 'hub', 'models--user--big', 'blobs') };
}

async function codeOf(pulling: Promise<unknown>): Promise<string> {
  const error: unknown = await pulling.then(
    () => assert.fail('it should have failed'),
    (failure: unknown) => failure,
  );
  assert.ok(isRocmforgeError(error), String(error));
  return error.code;
}

const isWhole = ({ path }: { path: string }) => assert.deepEqual(sha256Of(readFileSync(path)), HASH);

test('connections that are cut are continued where they ended', async (t) => {
  const { server, environment } = await start(t);
  server.behaviour.cuts = { after: 400_000, count: 4 };
  isWhole(await pullWith(environment, NAME));
  // What is on its way when a connection ends may be lost.
  assert.ok(server.sent <= CONTENT.length + 4 * 400_000, String(server.sent));
});

test('connections that stand still are left, and continued', async (t) => {
  const { server, environment } = await start(t);
  server.behaviour.stalls = { after: 300_000, count: 2 };
  isWhole(await pullWith(environment, NAME, { idleMs: 200 }));
  assert.equal(server.behaviour.stalls.count, 0);
});

test('a server that is busy is asked again, when it says', async (t) => {
  const { server, environment } = await start(t);
  server.behaviour.refusals = { status: 429, count: 2, retryAfter: '0' };
  server.behaviour.storageRefusals = { status: 503, count: 3, retryAfter: new Date().toUTCString() };
  isWhole(await pullWith(environment, NAME));
});

test('a server that stays away is given up, and what arrived is kept', async (t) => {
  const { server, environment, blobs } = await start(t);
  const then = () => {
    server.behaviour.storageRefusals = { status: 500, count: 100 };
  };
  server.behaviour.cuts = { after: 100_000, count: 1, then };
  assert.equal(await codeOf(pullWith(environment, NAME, { connections: 1 })), 'HTTP_STATUS');
  const journal = await readJournal(join(blobs, `${HASH}.rocmforge-journal`));
  assert.equal(journal?.ranges.bytes, 100_000);
  server.behaviour.storageRefusals = undefined;
  const from = server.asked.length;
  isWhole(await pullWith(environment, NAME));
  assert.deepEqual(rangesAsked(server, from), [[100_000, CONTENT.length]], 'only the rest');
});

test('what will not pass is not tried again', async (t) => {
  const { server, environment } = await start(t);
  server.behaviour.refusals = { status: 418, count: 1 };
  assert.equal(await codeOf(pullWith(environment, NAME)), 'HTTP_STATUS');
  assert.equal(server.asked.length, 1);
});

test('bytes of another content are not kept', async (t) => {
  const { server, environment, blobs } = await start(t);
  server.behaviour.wrongContent = true;
  assert.equal(await codeOf(pullWith(environment, NAME)), 'HASH_MISMATCH');
  assert.deepEqual(readdirSync(blobs), []);
  server.behaviour.wrongContent = false;
  isWhole(await pullWith(environment, NAME));
});

test('a file that changes between two ranges is not put together', async (t) => {
  const { server, environment, blobs } = await start(t);
  let asked = 0;
  server.behaviour.etag = () => `"${asked++}"`;
  server.behaviour.cuts = { after: 1_000_000, count: 1 };
  assert.equal(await codeOf(pullWith(environment, NAME)), 'SOURCE_CHANGED');
  assert.deepEqual(readdirSync(blobs), []);
  server.behaviour.etag = undefined;
  server.behaviour.linkedEtag = 'f'.repeat(64);
  assert.equal(await codeOf(pullWith(environment, NAME)), 'SOURCE_CHANGED');
});

test('a signed address is asked again until it expires, and then the hub is', async (t) => {
  const { server, environment } = await start(t);
  server.behaviour.signatureUses = 2;
  server.behaviour.cuts = { after: 500_000, count: 4 };
  isWhole(await pullWith(environment, NAME, { connections: 1 }));
  const resolved = server.asked.filter(({ path }) => path.includes('/resolve/')).length;
  assert.equal(resolved, 3, 'five answers from three addresses');
});

test('a server without ranges sends the whole file, from its beginning each time', async (t) => {
  const { server, environment } = await start(t);
  server.behaviour.noRanges = true;
  server.behaviour.cuts = { after: 1_000_000, count: 2 };
  isWhole(await pullWith(environment, NAME));
  assert.equal(server.sent, CONTENT.length + 2_000_000);
});

test('a file of unknown length at an address', async (t) => {
  const { server, environment } = await start(t);
  Object.assign(server.behaviour, { noRanges: true, chunked: true, etag: () => undefined });
  isWhole(await pullWith(environment, `${server.storageUrl}/${HASH}`));
});

test('an address whose file changed since the last attempt begins anew', async (t) => {
  const { server, environment } = await start(t);
  const url = `${server.storageUrl}/${HASH}`;
  const stop = new AbortController();
  const onProgress = ({ bytes }: { bytes: number }) => {
    if (bytes > 1_000_000) stop.abort();
  };
  assert.equal(await codeOf(pullWith(environment, url, { onProgress, signal: stop.signal })), 'ABORTED');
  server.behaviour.etag = () => '"another"';
  const from = server.asked.length;
  isWhole(await pullWith(environment, url));
  const asked = rangesAsked(server, from);
  assert.deepEqual(
    asked,
    [
      [0, 1],
      [0, CONTENT.length],
    ],
    'all, after the byte that tells the version',
  );
});

test('an abort keeps what has arrived', async (t) => {
  const { server, environment, blobs } = await start(t);
  server.behaviour.slowBy = 65_536;
  const stop = new AbortController();
  const onProgress = ({ bytes }: { bytes: number }) => {
    if (bytes > 0) stop.abort();
  };
  assert.equal(await codeOf(pullWith(environment, NAME, { onProgress, signal: stop.signal })), 'ABORTED');
  const journal = await readJournal(join(blobs, `${HASH}.rocmforge-journal`));
  const kept = journal?.ranges.bytes ?? 0;
  assert.ok(kept > 0);
  const from = server.asked.length;
  isWhole(await pullWith(environment, NAME));
  assert.deepEqual(rangesAsked(server, from), [[kept, CONTENT.length]]);
});

test('two pulls at once download once', async (t) => {
  const { server, environment } = await start(t);
  let isWaiting = () => {};
  // Nothing is sent before one of them waits for the other.
  server.behaviour.gate = new Promise((resolve) => {
    isWaiting = resolve;
  });
  const onProgress = ({ phase }: { phase: string }) => {
    if (phase === 'waiting') isWaiting();
  };
  const both = await Promise.all([
    pullWith(environment, NAME, { onProgress }),
    pullWith(environment, NAME, { onProgress }),
  ]);
  for (const pulled of both) isWhole(pulled);
  assert.equal(server.sent, CONTENT.length);
  const locks = join(environment.HF_HOME ?? '', 'hub', '.locks', 'models--user--big');
  assert.deepEqual(existsSync(locks) ? readdirSync(locks) : [], []);
});
