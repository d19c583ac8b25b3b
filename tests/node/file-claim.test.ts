import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'node:test';
import { FileClaim } from '../../src/node/file-claim.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { temporaryFolder } from '../support/temporary.ts';

const { signal } = new AbortController();

test('one of many has a claim at a time', async (t) => {
  const path = join(temporaryFolder(t), 'locks', 'blob');
  let holders = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: 5 }, async () => {
      await using _claim = await FileClaim.take(path, { signal });
      most = Math.max(most, ++holders);
      await new Promise((resolve) => setTimeout(resolve, 5));
      holders--;
    }),
  );
  assert.equal(most, 1);
  assert.deepEqual(readdirSync(join(path, '..')), []);
});

test('a claim dies with its process, and counts while it lives', async (t) => {
  const path = join(temporaryFolder(t), 'blob');
  const module = pathToFileURL(join(PROJECT_ROOT, 'dist/src/node/file-claim.js')).href;
  const code = `
    const { FileClaim } = await import('${module}');
    await FileClaim.take(${JSON.stringify(path)}, { signal: new AbortController().signal });
    process.stdout.write('taken');
    setInterval(() => {}, 1000);`;
  const holder = spawn(process.execPath, ['--input-type=module', '-e', code]);
  t.after(() => holder.kill('SIGKILL'));
  await once(holder.stdout, 'data');
  const ended = once(holder, 'exit');
  let waited = false;
  const onWait = () => {
    waited = true;
    holder.kill('SIGKILL');
  };
  await using _claim = await FileClaim.take(path, { signal, onWait });
  await ended;
  assert.ok(waited);
  assert.equal(readdirSync(join(path, '..')).length, 1, 'what the dead process left is gone');
});

test('claims of other machines count while they are renewed', async (t) => {
  const path = join(temporaryFolder(t), 'blob');
  const other = `${path}.000000000000.1.aa`;
  writeFileSync(other, '');
  const onWait = () => utimesSync(other, 1, 1);
  await using _claim = await FileClaim.take(path, { signal, onWait });
  assert.equal(readdirSync(join(path, '..')).length, 1);
});

test('waiting for a claim ends with an abort', async (t) => {
  const path = join(temporaryFolder(t), 'blob');
  await using _claim = await FileClaim.take(path, { signal });
  const stop = new AbortController();
  const waiting = FileClaim.take(path, { signal: stop.signal, onWait: () => stop.abort() });
  await assert.rejects(waiting, { code: 'ABORTED' });
});
