import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { FolderLock } from '../../src/node/folder-lock.ts';
import { temporaryFolder } from '../support/temporary.ts';

const IN_USE = { code: 'FOLDER_IN_USE' };
const MODULE = new URL('../../src/node/folder-lock.js', import.meta.url).href;

/** What a process of its own says that tries to take the folder and leaves without giving it back. */
function takenElsewhere(folder: string): string {
  const script = `
    import { FolderLock } from ${JSON.stringify(MODULE)};
    await FolderLock.take(${JSON.stringify(folder)}).then(() => console.log('taken'), ({ code }) => console.log(code));
    process.exit();`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  return stdout.trim();
}

test('one process at a time has a folder, until it gives it back or is gone', async (t) => {
  const folder = temporaryFolder(t);
  const lock = await FolderLock.take(folder);
  await assert.rejects(FolderLock.take(folder), IN_USE);
  assert.equal(takenElsewhere(folder), 'FOLDER_IN_USE');
  await lock[Symbol.asyncDispose]();
  assert.equal(takenElsewhere(folder), 'taken');
  assert.equal(readdirSync(folder).length, 1, 'it has not been given back');
  const next = await FolderLock.take(folder);
  await assert.rejects(FolderLock.take(folder), IN_USE);
  await next[Symbol.asyncDispose]();
  await next[Symbol.asyncDispose]();
  assert.deepEqual(readdirSync(folder), []);
});

test('another machine has a folder while it renews its lock', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, '.lock');
  writeFileSync(path, JSON.stringify({ token: 'a', pid: process.pid, host: `not ${hostname()}` }));
  await assert.rejects(FolderLock.take(folder), IN_USE);
  utimesSync(path, new Date(), new Date(Date.now() - 60_000));
  await using _lock = await FolderLock.take(folder);
  assert.equal(JSON.parse(readFileSync(path, 'utf8')).host, hostname());
});

test('a lock that says nothing is another that is being made, and abandoned after a while', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, '.lock');
  writeFileSync(path, '');
  await assert.rejects(FolderLock.take(folder), IN_USE);
  utimesSync(path, new Date(), new Date(Date.now() - 60_000));
  await using _lock = await FolderLock.take(folder);
  assert.equal(JSON.parse(readFileSync(path, 'utf8')).pid, process.pid);
});
