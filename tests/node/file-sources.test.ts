import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { ByteSource } from '../../src/io/index.ts';
import { FileSource, MappedSource, openSource } from '../../src/node/index.ts';
import { openDescriptors, openMappings } from '../support/open-handles.ts';
import { seededRandom } from '../support/random.ts';
import { temporaryFolder } from '../support/temporary.ts';

const SIZE = 1_000_003;
const random = seededRandom(11);
const content = Uint8Array.from({ length: SIZE }, () => random() * 256);

function contentFile(t: TestContext): string {
  const path = join(temporaryFolder(t), 'content.bin');
  writeFileSync(path, content);
  return path;
}

/** Skips the test, saying why, where nothing can be mapped. */
async function mapped(t: TestContext, path: string, windowBytes?: number): Promise<MappedSource | undefined> {
  try {
    return await MappedSource.open(path, windowBytes === undefined ? {} : { windowBytes });
  } catch (error) {
    if (!isRocmforgeError(error, 'SOURCE_UNAVAILABLE')) throw error;
    t.skip(error.message);
    return undefined;
  }
}

function randomRange(limit: number): { offset: number; length: number } {
  const offset = Math.floor(random() * SIZE);
  return { offset, length: Math.floor(random() * Math.min(limit, SIZE - offset)) };
}

async function checkParallelReads(source: ByteSource): Promise<void> {
  const ranges = Array.from({ length: 200 }, () => randomRange(50_000));
  await Promise.all(
    ranges.map(async ({ offset, length }) => {
      const shared = new Uint8Array(new SharedArrayBuffer(length + 2), 1, length);
      await source.read(offset, shared);
      assert.deepEqual(shared.slice(), content.slice(offset, offset + length));
    }),
  );
}

test('FileSource reads any ranges at once into shared memory and closes its handle', async (t) => {
  const path = contentFile(t);
  const source = await FileSource.open(path);
  assert.equal(source.size, SIZE);
  assert.equal(openDescriptors(path) ?? 1, 1);
  await checkParallelReads(source);
  await source.dispose();
  await source.dispose();
  assert.equal(openDescriptors(path) ?? 0, 0);
  await assert.rejects(source.read(0, new Uint8Array(1)), { code: 'DISPOSED' });
});

test('disposing waits for the reads in flight', async (t) => {
  const path = contentFile(t);
  const source = await FileSource.open(path);
  const bytes = new Uint8Array(SIZE);
  const reading = source.read(0, bytes);
  await source.dispose();
  await reading;
  assert.deepEqual(bytes, content);
});

test('a read past the end, an abort and a shrunk file are typed errors', async (t) => {
  const path = contentFile(t);
  await using source = await FileSource.open(path);
  await assert.rejects(source.read(SIZE - 1, new Uint8Array(2)), { code: 'READ_OUT_OF_RANGE' });
  await assert.rejects(source.read(-1, new Uint8Array(2)), { code: 'READ_OUT_OF_RANGE' });
  await assert.rejects(source.read(0.5, new Uint8Array(2)), { code: 'READ_OUT_OF_RANGE' });
  await assert.rejects(source.read(0, new Uint8Array(2), AbortSignal.abort()), { code: 'ABORTED' });
  truncateSync(path, 100);
  await assert.rejects(source.read(50, new Uint8Array(100)), { code: 'READ_SHORT' });
});

test('what is no readable file is SOURCE_UNAVAILABLE, at once', async (t) => {
  const folder = temporaryFolder(t);
  const paths = [folder, join(folder, 'missing.gguf')];
  if (process.platform !== 'win32') {
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    paths.push(join(folder, 'pipe'));
  }
  for (const path of paths) {
    await assert.rejects(openSource(path), { code: 'SOURCE_UNAVAILABLE' });
    await assert.rejects(openSource(path, { mmap: false }), { code: 'SOURCE_UNAVAILABLE' });
  }
});

test('an address of a file is its path; one that is none is SOURCE_UNAVAILABLE', async (t) => {
  const path = contentFile(t);
  await using source = await openSource(pathToFileURL(path));
  assert.equal(source.size, SIZE);
  for (const address of ['file://elsewhere/model.gguf', 'file:///a%2Fb.gguf']) {
    await assert.rejects(openSource(address), { code: 'SOURCE_UNAVAILABLE' });
  }
});

test('mapped views equal positional reads on both sides of every window boundary', async (t) => {
  const path = contentFile(t);
  const stride = 64 << 10;
  const source = await mapped(t, path, 2 * stride);
  if (!source) return;
  for (let boundary = 0; boundary <= SIZE; boundary += stride) {
    for (const start of [boundary - stride + 1, boundary - 5, boundary - 1, boundary]) {
      for (const length of [1, 10, stride]) {
        if (start < 0 || start + length > SIZE) continue;
        const view = source.view(start, length);
        assert.ok(view, `${length} bytes at ${start} lie in one window`);
        const bytes: Uint8Array = new Uint8Array(length);
        await source.read(start, bytes);
        assert.deepEqual(view, bytes);
        assert.deepEqual(bytes, content.subarray(start, start + length));
      }
    }
  }
  assert.equal(source.view(stride - 1, stride + 2), undefined);
  assert.equal(source.view(SIZE, 0)?.byteLength, 0);
  assert.throws(() => source.view(SIZE - 1, 2), { code: 'READ_OUT_OF_RANGE' });
  await checkParallelReads(source);
  assert.ok((openMappings(path) ?? 1) > 0);
  await source.dispose();
  assert.equal(openMappings(path) ?? 0, 0);
  assert.equal(openDescriptors(path) ?? 0, 0);
  assert.throws(() => source.view(0, 1), { code: 'DISPOSED' });
});

test('a mapped range has pages of its own, follows the file, and outlives the source', async (t) => {
  const path = contentFile(t);
  const source = await mapped(t, path);
  if (!source) return;
  const ranges = await Promise.all([source.map(70_000, 5000), source.map(75_000, SIZE - 75_000)]);
  if (!ranges[0]) return t.skip('the system brings no mapping into memory');
  await assert.rejects(source.map(SIZE, 1), { code: 'READ_OUT_OF_RANGE' });
  const fd = openSync(path, 'r+');
  writeSync(fd, 'changed', 70_000);
  closeSync(fd);
  await source.dispose();
  const [first, second] = ranges.map((range) => range?.bytes.subarray(range.lead));
  assert.equal(new TextDecoder().decode(first?.subarray(0, 7)), 'changed');
  assert.deepEqual(second, content.slice(75_000));
  assert.ok((openMappings(path) ?? 1) > 0);
  for (const range of ranges) range?.[Symbol.dispose]();
  assert.equal(openMappings(path) ?? 0, 0);
  return undefined;
});

test('of a file that became shorter, what is gone is not mapped', async (t) => {
  const path = contentFile(t);
  await using source = await mapped(t, path);
  if (!source) return;
  truncateSync(path, 100_000);
  assert.equal(await source.map(200_000, 1000), undefined);
  assert.equal(openMappings(path) ?? 0, 0);
});

test('a file of more than 4 GiB is viewed everywhere', async (t) => {
  const path = join(temporaryFolder(t), 'sparse.bin');
  const size = 5 * 2 ** 30;
  const marks = [0, 2 ** 30 - 3, 2 ** 31 - 3, 2 ** 32 - 3, size - 6];
  const fd = openSync(path, 'w');
  for (const mark of marks) writeSync(fd, `${marks.indexOf(mark)}mark!`, mark);
  closeSync(fd);
  await using source = await mapped(t, path);
  if (!source) return;
  for (const [index, mark] of marks.entries()) {
    const view = source.view(mark, 6);
    assert.equal(new TextDecoder().decode(view), `${index}mark!`);
  }
  assert.equal(source.view(2 ** 30 - 1, 2 ** 30)?.byteLength, 2 ** 30);
});

test('what is only read is not counted as memory of JavaScript', async (t) => {
  const path = contentFile(t);
  const windows = 4;
  // Windows start at every half of two gigabytes; the file has holes.
  truncateSync(path, windows * 2 ** 30);
  const source = await mapped(t, path);
  if (!source) return;
  await using _source = source;
  const into = new Uint8Array(2 ** 20);
  const before = process.memoryUsage().external;
  for (let window = 0; window < windows; window++) await source.read(window * 2 ** 30, into);
  const grown = process.memoryUsage().external - before;
  assert.ok(grown < 2 ** 30, `${grown} bytes more`);
});

test('a window must be a multiple of the page size', async (t) => {
  const path = contentFile(t);
  await assert.rejects(MappedSource.open(path, { windowBytes: 5000 }), { code: 'INVALID_ARGUMENT' });
});
