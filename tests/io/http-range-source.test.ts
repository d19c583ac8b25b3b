import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GgufFile, loadTensorBytes, planSplits } from '../../src/gguf/index.ts';
import { HttpRangeSource } from '../../src/io/index.ts';
import { openGguf } from '../../src/node/index.ts';
import { dataOf, fileOf, format, SMALL_PLAN } from '../support/gguf-files.ts';
import { seededRandom } from '../support/random.ts';
import { startRangeServer } from '../support/range-server.ts';

const BLOCK = 1024;
const random = seededRandom(5);
const content = Uint8Array.from({ length: 100_001 }, () => random() * 256);
const files = new Map([['/file', content]]);

test('any ranges, many at once, are the bytes of the file', async (t) => {
  const server = await startRangeServer(t, files);
  await using source = await HttpRangeSource.open(`${server.url}/file`, { blockBytes: BLOCK });
  assert.equal(source.size, content.length);
  await Promise.all(
    Array.from({ length: 100 }, async () => {
      const offset = Math.floor(random() * content.length);
      const length = Math.floor(random() * Math.min(3 * BLOCK, content.length - offset));
      const into = new Uint8Array(new SharedArrayBuffer(length));
      await source.read(offset, into);
      assert.deepEqual(into.slice(), content.slice(offset, offset + length));
    }),
  );
});

test('small reads share blocks, and a block is downloaded once however many ask', async (t) => {
  const server = await startRangeServer(t, files);
  await using source = await HttpRangeSource.open(`${server.url}/file`, { blockBytes: BLOCK });
  assert.deepEqual(server.requests, [`/file bytes=0-${BLOCK - 1}`]);
  await Promise.all(Array.from({ length: 50 }, (_, i) => source.read(BLOCK + i, new Uint8Array(4))));
  for (let i = 0; i < 50; i++) await source.read(i, new Uint8Array(4));
  assert.deepEqual(server.requests.slice(1), [`/file bytes=${BLOCK}-${2 * BLOCK - 1}`]);
  await source.read(5000, new Uint8Array(5 * BLOCK));
  assert.deepEqual(server.requests.slice(2), [`/file bytes=5000-${5000 + 5 * BLOCK - 1}`]);
});

test('inspecting a remote model downloads its header only', async (t) => {
  const big = await fileOf({
    metadata: [['k', { type: 'array', element: 'string', values: Array(20_000).fill('token') }]],
    tensors: [{ name: 'w', format: format('F32'), shape: [1 << 20, 2] }],
  });
  const server = await startRangeServer(t, new Map([['/m.gguf', big]]));
  await using file = await openGguf(`${server.url}/m.gguf`);
  const tensor = file.requireTensor('w');
  assert.equal(file.metadata.lengthOf('k'), 20_000);
  t.diagnostic(`${server.bytesSent} of ${big.length} bytes in ${server.requests.length} requests`);
  assert.ok(server.bytesSent <= 2 * tensor.offset + (256 << 10) && server.requests.length <= 4);
  assert.deepEqual(
    await loadTensorBytes(tensor),
    big.slice(tensor.offset, tensor.offset + tensor.byteLength),
  );
});

test('a split remote model finds its parts at the same address', async (t) => {
  const parts = planSplits(SMALL_PLAN, '/dir/m', { maxTensors: 20 });
  const contents = await Promise.all(
    parts.map(async ({ name, plan }) => [name, await fileOf(plan)] as const),
  );
  const server = await startRangeServer(t, new Map(contents));
  await using file = await openGguf(`${server.url}${parts[0]?.name}?download=true`);
  assert.equal(file.tensors.length, SMALL_PLAN.tensors.length);
  for (const tensor of file.tensors) assert.deepEqual(await loadTensorBytes(tensor), dataOf(tensor));
  assert.ok(server.requests.every((request) => request.includes('?download=true ')));
});

test('headers and fetch are the caller’s', async (t) => {
  const server = await startRangeServer(t, files);
  const seen: (string | null)[] = [];
  await using source = await HttpRangeSource.open(`${server.url}/file`, {
    headers: { authorization: 'Bearer x' },
    fetch: (input, init) => {
      seen.push(new Headers(init?.headers).get('authorization'));
      return fetch(input, init);
    },
  });
  assert.equal(source.size, content.length);
  assert.deepEqual(seen, ['Bearer x']);
});

test('a server without ranges, a missing file and a dead server are typed errors', async (t) => {
  const server = await startRangeServer(t, files);
  const open = (path: string) => HttpRangeSource.open(`${server.url}${path}`, { blockBytes: BLOCK });
  await assert.rejects(open('/absent'), { code: 'HTTP_STATUS', message: /status 404, expected 206/ });
  server.behaviour.ignoreRanges = true;
  await assert.rejects(open('/file'), { code: 'HTTP_NO_RANGES', message: /status 200/ });
  server.behaviour.ignoreRanges = false;
  for (const contentRange of ['bytes 0-1023/*', 'bytes 5-1028/100001', 'bytes 0-99/100001', 'nonsense']) {
    server.behaviour.contentRange = contentRange;
    await assert.rejects(open('/file'), { code: 'HTTP_NO_RANGES' }, contentRange);
  }
  await assert.rejects(HttpRangeSource.open('http://127.0.0.1:1/file'), { code: 'SOURCE_UNAVAILABLE' });
});

test('a file that changes while it is open is noticed', async (t) => {
  const changing = new Map(files);
  const server = await startRangeServer(t, changing);
  await using source = await HttpRangeSource.open(`${server.url}/file`, { blockBytes: BLOCK });
  server.behaviour.etag = '"2"';
  await assert.rejects(source.read(5000, new Uint8Array(8)), {
    code: 'SOURCE_CHANGED',
    message: /"2", was "1"/,
  });
  server.behaviour.etag = '"1"';
  changing.set('/file', content.subarray(0, 50_000));
  await assert.rejects(source.read(6000, new Uint8Array(8)), { code: 'SOURCE_CHANGED', message: /size/ });
  changing.set('/file', content);
  await source.read(6000, new Uint8Array(8));
});

test('a failed block is asked for again by the next read', async (t) => {
  const server = await startRangeServer(t, files);
  await using source = await HttpRangeSource.open(`${server.url}/file`, { blockBytes: BLOCK });
  server.behaviour.cutAfter = 10;
  await assert.rejects(source.read(5000, new Uint8Array(8)), { code: 'READ_FAILED' });
  server.behaviour.cutAfter = undefined;
  server.behaviour.status = 503;
  await assert.rejects(source.read(5000, new Uint8Array(8)), { code: 'HTTP_STATUS' });
  delete server.behaviour.status;
  const into = new Uint8Array(8);
  await source.read(5000, into);
  assert.deepEqual(into, content.slice(5000, 5008));
});

test('an abort ends the wait of its reader only; disposing ends them all', async (t) => {
  const server = await startRangeServer(t, files);
  const source = await HttpRangeSource.open(`${server.url}/file`, { blockBytes: BLOCK });
  server.behaviour.stallAfter = 10;
  const abort = new AbortController();
  const small = source.read(5000, new Uint8Array(8), abort.signal);
  const large = source.read(9000, new Uint8Array(2 * BLOCK), abort.signal);
  const patient = source.read(5000, new Uint8Array(8));
  const patientLarge = source.read(20_000, new Uint8Array(2 * BLOCK));
  setTimeout(() => abort.abort(), 20);
  await assert.rejects(small, { code: 'ABORTED' });
  await assert.rejects(large, { code: 'ABORTED' });
  setTimeout(() => void source.dispose(), 20);
  await assert.rejects(patient, { code: 'DISPOSED' });
  await assert.rejects(patientLarge, { code: 'DISPOSED' });
  await assert.rejects(source.read(0, new Uint8Array(1)), { code: 'DISPOSED' });
});

test('opening can be aborted', async (t) => {
  const server = await startRangeServer(t, files);
  server.behaviour.stallAfter = 10;
  const signal = AbortSignal.timeout(30);
  await assert.rejects(HttpRangeSource.open(`${server.url}/file`, { signal }), { code: 'ABORTED' });
  await assert.rejects(openGguf(`${server.url}/file`, { signal }), { code: 'ABORTED' });
});

test('GgufFile refuses a remote file that is no model, and releases it', async (t) => {
  const server = await startRangeServer(t, files);
  const source = await HttpRangeSource.open(`${server.url}/file`);
  await assert.rejects(GgufFile.open(source), { code: 'GGUF_MAGIC' });
  await assert.rejects(source.read(0, new Uint8Array(1)), { code: 'DISPOSED' });
});
