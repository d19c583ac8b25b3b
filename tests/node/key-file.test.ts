import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { keysInFile } from '../../src/node/key-file.ts';
import { examplesOf } from '../support/guide-examples.ts';
import { temporaryFolder } from '../support/temporary.ts';

test('a key file has a key a line, with its limits; what is of another form is refused without its keys', async (t) => {
  const path = join(temporaryFolder(t), 'keys');
  writeFileSync(
    path,
    '# whose they are\n\nsk-1\n  sk-2 name=ann concurrency=4 requests-per-minute=60 priority=yes\r\nsk-3 priority=no\n',
  );
  assert.deepEqual(await keysInFile(path), [
    { key: 'sk-1' },
    { key: 'sk-2', name: 'ann', concurrency: 4, requestsPerMinute: 60, mayPrioritize: true },
    { key: 'sk-3', mayPrioritize: false },
  ]);
  for (const words of [
    'concurrency=0',
    'concurrency=1e9',
    'concurrency',
    'priority=maybe',
    'rate=3',
    'name=',
  ]) {
    writeFileSync(path, `sk-1\nsk-secret ${words}\n`);
    await assert.rejects(keysInFile(path), (error) => {
      assert.ok(isRocmforgeError(error, 'INVALID_ARGUMENT'));
      assert.match(error.message, /line 2/);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
  }
  await assert.rejects(keysInFile(`${path}.none`), (error) => isRocmforgeError(error, 'INVALID_ARGUMENT'));
});

test('the key file of the guide is one', async (t) => {
  const [file = '', ...more] = examplesOf('docs/server.md', 'text');
  assert.deepEqual(more, []);
  const path = join(temporaryFolder(t), 'keys');
  writeFileSync(path, file);
  assert.deepEqual(
    (await keysInFile(path)).map(({ key: _, ...limits }) => limits),
    [
      { name: 'ann', concurrency: 4, requestsPerMinute: 60 },
      { name: 'batch', mayPrioritize: true },
    ],
  );
});
