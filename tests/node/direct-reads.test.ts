import assert from 'node:assert/strict';
import { fsyncSync, openSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import koffi from 'koffi';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { GgufFile } from '../../src/gguf/index.ts';
import { AsyncModelLoader } from '../../src/load/async-model-loader.ts';
import { FileSource, MappedSource } from '../../src/node/index.ts';
import { loadMemoryMapper } from '../../src/node/memory-mapper.ts';
import { seededRandom } from '../support/random.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { tinyBytes } from '../support/tiny-model.ts';
import { placedTensors } from '../support/placed-tensors.ts';

const MIB = 1 << 20;
const DONT_NEED = 4;

/** A file of 4 MiB and a bit that is not in the page cache, as far as the system does what it is told. */
function coldFile(t: TestContext): { path: string; fd: number; content: Uint8Array } {
  const random = seededRandom(5);
  const content = Uint8Array.from({ length: 4 * MIB + 77 }, () => random() * 256);
  const path = join(temporaryFolder(t), 'cold.bin');
  writeFileSync(path, content);
  const fd = openSync(path, 'r+');
  fsyncSync(fd);
  const advise = koffi.load(null).func('int posix_fadvise(int, int64_t, int64_t, int)') as (
    ...args: number[]
  ) => number;
  advise(fd, 0, 0, DONT_NEED);
  return { path, fd, content };
}

test('a cold file is read past the cache, a cached one through it', async (t) => {
  if (process.platform !== 'linux') {
    t.skip('only Linux lets a file be read past its cache this way');
    return;
  }
  const { path, fd, content } = coldFile(t);
  const mapping = (await loadMemoryMapper()).map(fd, 0, content.byteLength);
  t.after(() => mapping.unmap());
  if (mapping.isResident(MIB) || mapping.isResident(3 * MIB)) {
    t.skip('the system keeps the file in its cache');
    return;
  }
  const source = await MappedSource.open(path);
  t.after(() => source.dispose());
  const aligned = new Uint8Array(new WebAssembly.Memory({ initial: 128, maximum: 128, shared: true }).buffer);
  const into = aligned.subarray(0, 4 * MIB);
  await source.read(0, into);
  assert.equal(Buffer.compare(into, content.subarray(0, 4 * MIB)), 0);
  assert.equal(mapping.isResident(MIB), false, 'the cache was left alone');
  // Memory, ranges and ends that cannot be read directly are read all the same.
  const odd = new Uint8Array(3 * MIB + 5);
  await source.read(13, odd);
  assert.equal(Buffer.compare(odd, content.subarray(13, 13 + odd.byteLength)), 0);
  assert.equal(mapping.isResident(MIB), true, 'now it is cached');
  const tail = aligned.subarray(0, MIB + 77);
  await source.read(3 * MIB, tail);
  assert.equal(Buffer.compare(tail, content.subarray(3 * MIB)), 0);
});

for (const [what, code, change] of [
  ['is truncated', 'READ_SHORT', (path: string) => truncateSync(path, 30_000)],
  ['is written to', 'SOURCE_CHANGED', (path: string) => utimesSync(path, 1, 1)],
] as const) {
  test(`a file that ${what} while it is loaded fails the load, and a second load works`, async (t) => {
    const path = join(temporaryFolder(t), 'model.gguf');
    const bytes = await tinyBytes();
    writeFileSync(path, bytes);
    await using device = openReferenceDevice();
    await using loader = new AsyncModelLoader(device, { slotBytes: 4096, slots: 2 });
    {
      await using gguf = await GgufFile.open(await FileSource.open(path));
      let changed = false;
      const onProgress = () => {
        if (!changed) change(path);
        changed = true;
      };
      const loading = loader.load(placedTensors(gguf, device), { onProgress });
      await assert.rejects(loading, (error) => isRocmforgeError(error, code));
    }
    writeFileSync(path, bytes);
    await using gguf = await GgufFile.open(await FileSource.open(path));
    await loader.load(placedTensors(gguf, device));
  });
}
