import assert from 'node:assert/strict';
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { isRocmforgeError } from '../../../src/base/errors.ts';
import { ModelHub } from '../../../src/node/hub/pull.ts';
import { COMMIT, type HubServer, sha256Of, startHub } from '../../support/hub/hub-server.ts';
import { hubEnvironment, IMPATIENT, pullWith, randomBytes } from '../../support/hub/pulling.ts';

const SMALL = randomBytes(70_000, 2);
const PARTS = [randomBytes(5000, 3), randomBytes(6000, 4)] as const;
const FILES = {
  'tiny-Q4_K_M.gguf': SMALL,
  'tiny-Q8_0-00001-of-00002.gguf': PARTS[0],
  'tiny-Q8_0-00002-of-00002.gguf': PARTS[1],
  'mmproj-tiny-F16.gguf': randomBytes(100, 5),
  'README.md': randomBytes(10, 6),
};

async function start(t: TestContext): Promise<{ server: HubServer; environment: Record<string, string> }> {
  const server = await startHub(t, { 'user/tiny': FILES });
  return { server, environment: hubEnvironment(t, server) };
}

/** How a pull failed. */
async function failureOf(pulling: Promise<unknown>): Promise<{ code: string; message: string; fix: string }> {
  const error: unknown = await pulling.then(
    () => assert.fail('it should have failed'),
    (failure: unknown) => failure,
  );
  assert.ok(isRocmforgeError(error), String(error));
  return error;
}

test('a model is kept in the layout of Hugging Face’s cache, and not downloaded twice', async (t) => {
  const { server, environment } = await start(t);
  const pulled = await pullWith(environment, 'user/tiny');
  const folder = join(environment.HF_HOME ?? '', 'hub', 'models--user--tiny');
  const path = join(folder, 'snapshots', COMMIT, 'tiny-Q4_K_M.gguf');
  assert.deepEqual(
    { ...pulled, name: undefined },
    { name: undefined, path, files: [path], bytes: SMALL.length },
  );
  assert.deepEqual(pulled.name, { kind: 'hub', repo: 'user/tiny', revision: 'main', quantization: 'Q4_K_M' });
  assert.deepEqual(new Uint8Array(readFileSync(path)), SMALL);
  assert.equal(readlinkSync(path), join('..', '..', 'blobs', sha256Of(SMALL)));
  assert.equal(readFileSync(join(folder, 'refs', 'main'), 'utf8'), COMMIT);
  assert.deepEqual(readdirSync(join(folder, 'blobs')), [sha256Of(SMALL)], 'nothing unfinished is left');
  assert.equal(server.sent, SMALL.length);
  await pullWith(environment, 'hf:user/tiny:Q4_K_M');
  assert.equal(server.sent, SMALL.length);
});

test('the parts of a split model are pulled together', async (t) => {
  const { environment } = await start(t);
  const shown: number[] = [];
  const { files, bytes } = await pullWith(environment, 'hf:user/tiny:Q8_0', {
    onProgress: ({ bytes: at, totalBytes }) => {
      assert.equal(totalBytes, 11_000);
      shown.push(at);
    },
  });
  assert.deepEqual(
    files.map((file) => new Uint8Array(readFileSync(file))),
    PARTS,
  );
  assert.equal(bytes, 11_000);
  assert.equal(shown.at(-1), 11_000);
});

test('what Hugging Face’s libraries have downloaded is found without a request', async (t) => {
  const { server, environment } = await start(t);
  const folder = join(environment.HF_HOME ?? '', 'hub', 'models--user--tiny');
  for (const name of ['blobs', 'refs', `snapshots/${COMMIT}`])
    mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, 'refs', 'main'), COMMIT);
  writeFileSync(join(folder, 'snapshots', COMMIT, 'tiny-Q4_K_M.gguf'), SMALL);
  using hub = await ModelHub.open({ environment, offline: true });
  const cached = await hub.cached(hub.parse('user/tiny'));
  assert.equal(cached?.path, join(folder, 'snapshots', COMMIT, 'tiny-Q4_K_M.gguf'));
  assert.equal(await hub.cached(hub.parse('user/tiny:Q8_0')), undefined);
  assert.equal((await failureOf(hub.pull(hub.parse('user/tiny:Q8_0')))).code, 'HUB_OFFLINE');
  assert.equal(server.asked.length, 0);
});

test('a token goes to the hub and never to the storage', async (t) => {
  const { server, environment } = await start(t);
  server.behaviour.token = 'hf_secret';
  const refused = await failureOf(pullWith(environment, 'user/tiny'));
  assert.equal(refused.code, 'HUB_NOT_FOUND');
  assert.match(refused.message, /private/);
  writeFileSync(join(environment.HF_HOME ?? '', 'token'), 'hf_secret\n');
  const headers = { 'x-own': 'header' };
  await pullWith(environment, 'user/tiny', { headers });
  await pullWith({ ...environment, HF_TOKEN: 'hf_secret' }, 'user/tiny:Q8_0');
  for (const { at, authorization, headers: sent } of server.asked.slice(1)) {
    assert.equal(authorization, at === 'hub' ? 'Bearer hf_secret' : undefined);
    if (at === 'storage') assert.equal(sent['x-own'], undefined);
  }
  assert.ok(server.asked.some(({ at, headers: sent }) => at === 'hub' && sent['x-own'] === 'header'));
});

test('a gated repository is refused with the page where its conditions are', async (t) => {
  const { server, environment } = await start(t);
  server.behaviour.gated = true;
  const { code, message, fix } = await failureOf(pullWith(environment, 'user/tiny'));
  assert.equal(code, 'HUB_ACCESS_DENIED');
  assert.ok(message.includes(`without a token: see ${server.url}/user/tiny`), message);
  assert.match(fix, /HF_TOKEN/);
});

test('what is not there is told with what is', async (t) => {
  const { environment } = await start(t);
  const cases: [name: string, message: RegExp][] = [
    ['user/other', /no such repository at http/],
    ['user/tiny@refs/pr/9', /no such revision: refs\/pr\/9$/],
    ['user/tiny:Q2_K', /no Q2_K; there is Q8_0, Q4_K_M/],
    ['user/tiny:absent.gguf', /no file absent\.gguf; there is/],
  ];
  for (const [name, message] of cases) {
    const failure = await failureOf(pullWith(environment, name));
    assert.equal(failure.code, 'HUB_NOT_FOUND');
    assert.match(failure.message, message);
  }
});

test('listings in pages, compressed, and of other sizes and names than can be', async (t) => {
  const { server, environment } = await start(t);
  Object.assign(server.behaviour, { pageSize: 2, gzip: true });
  using hub = await ModelHub.open({ environment });
  const name = hub.parse('user/tiny');
  assert.ok(name.kind === 'hub');
  const { models, projectors } = await hub.look(name);
  assert.deepEqual(
    models.map(({ quantization }) => quantization),
    ['Q8_0', 'Q4_K_M'],
  );
  assert.equal(projectors.length, 1);
  Object.assign(server.behaviour, { pageSize: undefined, gzip: false });
  for (const listed of [
    { lfs: { oid: '../x', size: 5 } },
    { lfs: { oid: 'a'.repeat(64), size: -5 } },
    { sha: '../..' },
    null,
  ]) {
    server.behaviour.listed = listed;
    assert.equal((await failureOf(hub.look(name))).code, 'HUB_ANSWER_INVALID');
  }
  server.behaviour.listed = { path: '../../outside-Q4_K_M.gguf' };
  assert.match((await failureOf(hub.look(name))).message, /no GGUF file/);
});

test('a file that the disk has no room for is refused before any of it is asked for', async (t) => {
  const { server, environment } = await start(t);
  server.behaviour.listed = { lfs: { oid: sha256Of(SMALL), size: 2 ** 52 } };
  const { code } = await failureOf(pullWith(environment, 'user/tiny'));
  assert.equal(code, 'DISK_FULL');
  assert.equal(server.asked.filter(({ path }) => path.includes('resolve')).length, 0);
});

test('a registry as Ollama’s: one layer is the model, the others are told', async (t) => {
  const layer = (kind: string, bytes: Uint8Array) => ({
    mediaType: `application/vnd.ollama.image.${kind}`,
    digest: `sha256:${sha256Of(bytes)}`,
    size: bytes.length,
  });
  const manifests = {
    '/v2/library/tiny/manifests/latest': {
      layers: [layer('model', SMALL), layer('template', PARTS[0]), layer('projector', PARTS[1])],
    },
    '/v2/library/none/manifests/latest': { layers: [layer('template', SMALL)] },
  };
  const server = await startHub(t, { 'user/tiny': FILES }, { manifests });
  const environment = hubEnvironment(t, server);
  const warned: unknown[] = [];
  const logger = {
    enabled: () => false,
    trace: () => {},
    debug: () => {},
    info: () => {},
    error: () => {},
    warn: (_: string, fields: unknown) => warned.push(fields),
  };
  const name = `ollama:${server.url}/library/tiny`;
  using hub = await ModelHub.open({ environment, logger });
  assert.equal(await hub.cached(hub.parse(name)), undefined);
  const { path } = await hub.pull(hub.parse(name));
  assert.deepEqual(new Uint8Array(readFileSync(path)), SMALL);
  assert.deepEqual(warned, [{ layer: 'application/vnd.ollama.image.projector' }]);
  assert.equal((await hub.cached(hub.parse(name)))?.path, path);
  const none = await failureOf(pullWith(environment, `ollama:${server.url}/library/none`));
  assert.equal(none.code, 'HUB_ANSWER_INVALID');
  const absent = await failureOf(pullWith(environment, `ollama:${server.url}/library/absent`));
  assert.equal(absent.code, 'HUB_NOT_FOUND');
});

test('a file at any address: its hash is found, and it is not downloaded twice', async (t) => {
  const { server, environment } = await start(t);
  const url = `${server.storageUrl}/${sha256Of(SMALL)}`;
  const { path } = await pullWith(environment, url);
  assert.deepEqual(new Uint8Array(readFileSync(path)), SMALL);
  assert.ok(lstatSync(path).isSymbolicLink());
  using hub = await ModelHub.open({ environment, offline: true });
  assert.equal((await hub.cached(hub.parse(url)))?.path, path);
});

test('a hub that does not answer is told of, after a few attempts that are told of too', async (t) => {
  const { server, environment } = await start(t);
  server.behaviour.refusals = { status: 503, count: 100 };
  const warned: string[] = [];
  const ignore = () => {};
  const rest = { enabled: () => false, trace: ignore, debug: ignore, info: ignore, error: ignore };
  const logger = { ...rest, warn: (text: string) => warned.push(text) };
  assert.equal((await failureOf(pullWith(environment, 'user/tiny', { logger }))).code, 'HTTP_STATUS');
  assert.deepEqual(warned, ['asking again', 'asking again']);
  assert.equal(server.asked.length, 3);
  const nobody = { ...environment, HF_ENDPOINT: 'http://127.0.0.1:1' };
  const { code, message } = await failureOf(pullWith(nobody, 'user/tiny'));
  assert.equal(code, 'SOURCE_UNAVAILABLE');
  assert.match(message, /127\.0\.0\.1:1.*ECONNREFUSED/);
});

test('settings that cannot be are refused', async () => {
  for (const environment of [
    { HF_ENDPOINT: 'ftp://x' },
    { HF_ENDPOINT: 'nowhere' },
    { HF_HUB_DOWNLOAD_TIMEOUT: 'x' },
  ]) {
    assert.equal(
      (await failureOf(ModelHub.open({ environment, patience: IMPATIENT }))).code,
      'INVALID_ARGUMENT',
    );
  }
});
