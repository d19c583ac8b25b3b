import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { loadModel } from '../../src/index.ts';
import { compileStrictly, examplesIn, folderInPackage } from '../support/guide-examples.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { TINY, tinyBytes } from '../support/tiny-model.ts';

const run = promisify(execFile);

/** The most likely token behind a text, as a model that is loaded the usual way finds it. */
async function likeliest(path: string, text: string): Promise<number> {
  await using model = await loadModel(path, { device: 'cpu' });
  const options = { maxTokens: 1, temperature: 0, ignoreEnd: true };
  for await (const { token } of model.generate(text, options)) if (token) return token.id;
  return assert.fail('there is a token');
}

test('the examples of the guide to working by hand compile strictly and run', async (t) => {
  const examples = examplesIn(readFileSync(join(PROJECT_ROOT, 'docs/by-hand.md'), 'utf8'), 'ts');
  assert.equal(examples.length, 5);
  const folder = folderInPackage(t);
  writeFileSync(join(folder, 'model.gguf'), await tinyBytes('Q8_0'));
  const printed: string[] = [];
  for (const [i, example] of examples.entries()) writeFileSync(join(folder, `example${i}.mts`), example);
  await compileStrictly(...examples.map((_, i) => join(folder, `example${i}.mts`)));
  for (const i of examples.keys()) {
    printed.push((await run(process.execPath, [`example${i}.mjs`], { cwd: folder })).stdout);
  }
  const [layers = '', streams = '', operator = '', gpu = '', sampling = ''] = printed;
  const lines = layers.trimEnd().split('\n');
  assert.equal(lines.length, TINY.layers + 2);
  assert.equal(lines[0], 'true');
  for (let layer = 0; layer < TINY.layers; layer++) {
    assert.match(lines[1 + layer] ?? '', new RegExp(`^layer ${layer}: [\\d.e-]+ ms, true$`));
  }
  assert.equal(lines.at(-1), `true ${await likeliest(join(folder, 'model.gguf'), 'One, two,')}`);
  assert.equal(streams, 'true 2.5\n8 16\n');
  assert.equal(operator, '0 32 64 96 128 160 192 224\n');
  assert.match(gpu, /^at \d+, in [\d.]+ ms\n$|is no GPU under HIP or CUDA\n$/);
  assert.match(sampling, /^4 bytes a step\n/);
  for (const phase of ['dispatch', 'load', 'submit', 'wait', 'back', 'step', 'gap']) {
    assert.match(sampling, new RegExp(`^${phase}: \\d+ times, [\\d.e-]+ ms$`, 'm'));
  }
});
