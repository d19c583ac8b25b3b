import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { compileStrictly, examplesIn, folderInPackage } from '../support/guide-examples.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { TINY, tinyBytes } from '../support/tiny-model.ts';

const run = promisify(execFile);

test('the examples of the guide to loading compile strictly and run', async (t) => {
  const examples = examplesIn(readFileSync(join(PROJECT_ROOT, 'docs/loading.md'), 'utf8'), 'ts');
  assert.equal(examples.length, 3);
  const folder = folderInPackage(t);
  const model = await tinyBytes('Q8_0');
  for (const name of ['model', 'small', 'large']) writeFileSync(join(folder, `${name}.gguf`), model);
  const printed: string[] = [];
  for (const [i, example] of examples.entries()) writeFileSync(join(folder, `example${i}.mts`), example);
  await compileStrictly(...examples.map((_, i) => join(folder, `example${i}.mts`)));
  for (const i of examples.keys()) {
    printed.push((await run(process.execPath, [`example${i}.mjs`], { cwd: folder })).stdout);
  }
  const [shared = '', served = '', byHand = ''] = printed;
  assert.match(shared, /\n\d+ bytes of weights are on the device\ntrue true\n$/);
  assert.equal(served, 'small 200\nlarge 200\n');
  const elements = TINY.width * TINY.vocabulary;
  assert.match(byHand, new RegExp(`^${elements} true\ntrue false\nready\n\\d+ true\n$`));
});
