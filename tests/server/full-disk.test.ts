import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { FolderBlobs } from '../../src/node/folder-blobs.ts';
import type { ModelServer } from '../../src/server/index.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { post, tinyServer } from '../support/test-server.ts';

/** A folder on a disk of its own, of one megabyte; undefined where none can be mounted: the test is skipped with the reason. */
function smallDisk(t: TestContext): string | undefined {
  let mounted: string | undefined;
  // Before the folder is removed.
  t.after(() => mounted !== undefined && spawnSync('umount', ['-l', mounted]));
  const folder = temporaryFolder(t);
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]);
  if (status === 0) mounted = folder;
  else t.skip(`no disk can be mounted here: ${stderr?.toString().trim() ?? 'there is no mount'}`);
  return mounted;
}

/** Fills the disk but for some bytes. */
function fill(folder: string, { but }: { but: number }): string {
  const path = join(folder, 'filling');
  writeFileSync(path, new Uint8Array(1024 * 1024 - but));
  return path;
}

async function textOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  let text = '';
  for await (const piece of content) text += new TextDecoder().decode(piece);
  return text;
}

test('what does not fit on a full disk leaves nothing behind, and nothing that was there is lost', async (t) => {
  const folder = smallDisk(t);
  if (folder === undefined) return;
  await using blobs = await FolderBlobs.open(folder);
  const line = (n: number) => `${n}:${'x'.repeat(3000)}\n`;
  const add = (n: number) => blobs.append('results', new TextEncoder().encode(line(n)));
  await add(0);
  const filling = fill(folder, { but: 48 * 1024 });
  let added = 1;
  await assert.rejects(
    async () => {
      for (; ; added++) await add(added);
    },
    { code: 'WRITE_FAILED' },
  );
  assert.ok(added > 2, `${added} lines`);
  const expected = Array.from({ length: added }, (_, n) => line(n)).join('');
  assert.equal(await textOf(blobs.read('results')), expected, 'whole lines only');
  const large = async function* () {
    for (let piece = 0; piece < 64; piece++) yield new Uint8Array(4096);
  };
  await assert.rejects(blobs.write('results', large()), { code: 'WRITE_FAILED' });
  assert.equal(await textOf(blobs.read('results')), expected, 'what was to be replaced');
  rmSync(filling);
  await add(added);
  assert.equal(await textOf(blobs.read('results')), expected + line(added));
});

async function told(server: ModelServer, path: string, body?: unknown) {
  const request = body === undefined ? new Request(`http://server${path}`) : post(path, body);
  const response = await server.fetch(request);
  const { id, error } = (await response.json()) as { id?: string; error?: { reason: string } };
  return { status: response.status, id, reason: error?.reason };
}

test('a server whose disk is full says so, answers all else, and goes on once there is room', async (t) => {
  const folder = smallDisk(t);
  if (folder === undefined) return;
  await using store = await FolderBlobs.open(folder);
  const server = await tinyServer(t, { store });
  const { id } = await told(server, '/v1/conversations', { metadata: { of: 'before' } });
  const filling = fill(folder, { but: 64 * 1024 });
  const items = [{ type: 'message', role: 'user', content: 'a '.repeat(100_000) }];
  const large = await told(server, '/v1/conversations', { items });
  assert.deepEqual([large.status, large.reason], [500, 'WRITE_FAILED']);
  const form = new FormData();
  form.set('purpose', 'batch');
  form.set('file', new File(['x'.repeat(200_000)], 'large.jsonl'));
  const file = await server.fetch(new Request('http://server/v1/files', { method: 'POST', body: form }));
  const { error } = (await file.json()) as { error: { reason: string } };
  assert.deepEqual([file.status, error.reason], [500, 'WRITE_FAILED']);
  assert.equal((await told(server, '/v1/completions', { prompt: 'hi', max_tokens: 2 })).status, 200);
  assert.equal((await told(server, `/v1/conversations/${id}`)).status, 200);
  rmSync(filling);
  assert.equal((await told(server, '/v1/conversations', { items })).status, 200);
});
