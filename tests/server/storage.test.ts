import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { RocmforgeError } from '../../src/base/errors.ts';
import { FolderBlobs } from '../../src/node/folder-blobs.ts';
import type { BlobStore } from '../../src/server/index.ts';
import { MemoryBlobs } from '../../src/server/storage/memory-blobs.ts';
import { OwnedStorage } from '../../src/server/storage/owned-storage.ts';
import { Storage } from '../../src/server/storage/storage.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { post, tinyServer } from '../support/test-server.ts';

const kinds: readonly [string, (folder: string) => Promise<BlobStore>][] = [
  ['memory', async () => new MemoryBlobs()],
  ['a folder', (folder) => FolderBlobs.open(folder)],
];
const full = { code: 'STORE_FULL' };

async function* bytes(...counts: number[]): AsyncGenerator<Uint8Array, void> {
  for (const count of counts) yield new Uint8Array(count).fill(7);
}

async function textOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  let text = '';
  for await (const piece of content) text += new TextDecoder().decode(piece);
  return text;
}

for (const [name, open] of kinds) {
  test(`items in ${name}: written, replaced, added to, listed, removed, and never more than their bound`, async (t) => {
    const blobs = await open(temporaryFolder(t));
    const storage = new Storage(blobs, { maxItems: 4, maxBytes: 1000 });
    const [ann, ben] = [new OwnedStorage(storage, 'ann'), new OwnedStorage(storage, 'ben')];
    await ann.put('file', 'a', { n: 1 });
    await ann.update<{ n: number }>('file', 'a', ({ n }) => ({ n: n + 1 }));
    assert.deepEqual(await ann.find('file', 'a'), { n: 2 });
    assert.equal(await ben.find('file', 'a'), undefined);
    await ann.append('file', 'a', new TextEncoder().encode('one '));
    await ann.append('file', 'a', new TextEncoder().encode('two'));
    assert.equal(await textOf(await ann.content('file', 'a')), 'one two');
    assert.equal(await ann.contentBytes('file', 'a'), 7);
    await ann.put('file', 'b', {});
    assert.deepEqual(
      (await ann.list('file')).map(({ id }) => id),
      ['a', 'b'],
    );
    // Content of which there is too much leaves nothing behind, nor does content that ends with an error.
    await assert.rejects(ben.putContent('file', 'big', bytes(600, 600)), full);
    const broken = (async function* () {
      yield* bytes(10);
      throw new RocmforgeError('ABORTED', { what: 'sending' });
    })();
    await assert.rejects(ben.putContent('file', 'broken', broken), { code: 'ABORTED' });
    assert.equal(await ben.find('file', 'broken'), undefined);
    await ann.put('file', 'c', {});
    using _pin = ann.pin('file', 'c');
    await ann.putContent('file', 'c', bytes(500, 400));
    await ben.put('file', 'd', { text: 'x'.repeat(80) });
    assert.equal(await ann.find('file', 'a'), undefined);
    assert.ok(await ann.find('file', 'c'));
    await assert.rejects(ann.remove('file', 'a'), { code: 'STORED_NOT_FOUND' });
    await ann.remove('file', 'c');
    const reopened = new Storage(blobs, { maxItems: 4, maxBytes: 1000 });
    assert.equal((await reopened.list('ben', 'file')).length, 1);
    assert.deepEqual(
      (await reopened.list('ann', 'file')).map(({ id }) => id),
      ['b'],
    );
  });
}

test('a folder of other things, and of writes that were cut off, is read all the same', async (t) => {
  const folder = temporaryFolder(t);
  const place = join(folder, 'ann/file');
  mkdirSync(place, { recursive: true });
  writeFileSync(join(folder, 'README'), 'mine');
  writeFileSync(join(place, '00000000001.a.json'), '{"a":1}');
  writeFileSync(join(place, '00000000002.b.data'), 'content without a record');
  writeFileSync(join(place, '00000000003.c.json.partial'), '{"c":');
  const blobs = await FolderBlobs.open(folder);
  const storage = new Storage(blobs, { maxItems: 10, maxBytes: 1000 });
  assert.deepEqual(
    (await storage.list('ann', 'file')).map(({ id }) => id),
    ['a'],
  );
  assert.deepEqual((await blobs.list()).map((blob) => blob.name).toSorted(), [
    'README',
    'ann/file/00000000001.a.json',
  ]);
});

test('a store that cannot write does not keep a response from its client, unless it must be stored', async (t) => {
  class FullDisk extends MemoryBlobs {
    override async write(): Promise<void> {
      throw new RocmforgeError('WRITE_FAILED', { path: 'x', reason: 'ENOSPC' });
    }
  }
  const server = await tinyServer(t, { store: new FullDisk() });
  const ask = { input: 'hi', max_output_tokens: 2 };
  const answer = await server.fetch(post('/v1/responses', ask));
  assert.equal(answer.status, 200);
  assert.equal(((await answer.json()) as { store: boolean }).store, false);
  assert.equal((await server.fetch(post('/v1/responses', { ...ask, store: true }))).status, 500);
});

test('pages of other origins cannot send what needs no permission', async (t) => {
  const server = await tinyServer(t, { origins: ['https://friend.example'] });
  const send = (origin: string) =>
    server.fetch(new Request('http://server/v1/conversations', { method: 'POST', headers: { origin } }));
  assert.equal((await send('https://foe.example')).status, 403);
  assert.equal((await send('null')).status, 403);
  assert.equal((await send('https://friend.example')).status, 200);
  assert.equal((await send('http://server')).status, 200);
});
