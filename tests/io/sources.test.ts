import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BlobSource, type ByteSource, MemorySource } from '../../src/io/index.ts';
import { seededRandom } from '../support/random.ts';

const random = seededRandom(3);
const content = Uint8Array.from({ length: 10_007 }, () => random() * 256);

const SOURCES: Readonly<Record<string, () => ByteSource>> = {
  MemorySource: () => new MemorySource(content),
  'MemorySource over shared memory': () => {
    const shared = new Uint8Array(new SharedArrayBuffer(content.length));
    shared.set(content);
    return new MemorySource(shared.buffer);
  },
  BlobSource: () => new BlobSource(new Blob([content])),
};

for (const [name, create] of Object.entries(SOURCES)) {
  test(`${name} keeps the contract of sources`, async () => {
    const source = create();
    assert.equal(source.size, content.length);
    await Promise.all(
      Array.from({ length: 100 }, async () => {
        const offset = Math.floor(random() * content.length);
        const into = new Uint8Array(new SharedArrayBuffer(Math.floor(random() * (content.length - offset))));
        await source.read(offset, into);
        assert.deepEqual(into.slice(), content.slice(offset, offset + into.length));
        const view = source.view?.(offset, into.length);
        if (view) assert.deepEqual(view.slice(), into.slice());
      }),
    );
    await source.read(content.length, new Uint8Array(0));
    for (const offset of [-1, 0.5, content.length, Number.NaN, 2 ** 60]) {
      await assert.rejects(source.read(offset, new Uint8Array(1)), { code: 'READ_OUT_OF_RANGE' });
    }
    await assert.rejects(source.read(0, new Uint8Array(1), AbortSignal.abort()), { code: 'ABORTED' });
    await source.dispose();
    await source.dispose();
    await assert.rejects(source.read(0, new Uint8Array(1)), { code: 'DISPOSED' });
  });
}

test('a file picked in a browser brings its name', () => {
  assert.equal(new BlobSource(new File([content], 'model.gguf')).name, 'model.gguf');
  assert.equal(new BlobSource(new Blob([content])).name, 'blob');
});

test('memory is viewed without a copy', () => {
  const source = new MemorySource(content);
  const view = source.view(100, 50);
  assert.equal(view.buffer, content.buffer);
  assert.equal(view.byteOffset, 100);
  assert.throws(() => source.view(10_000, 8), { code: 'READ_OUT_OF_RANGE' });
});
