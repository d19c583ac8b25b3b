import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const MODULE = fileURLToPath(new URL('../../src/node/open-cpu.js', import.meta.url));

test('the runtime takes the relaxed kernels and has nothing to say about its flags', () => {
  // V8 writes to standard error by itself, past what a process can watch of itself.
  const text = `
    const { kernelBytes } = await import(${JSON.stringify(MODULE)});
    console.log(WebAssembly.validate((await kernelBytes()).relaxed));
  `;
  const run = spawnSync(process.execPath, ['--input-type=module', '--eval', text], { encoding: 'utf8' });
  assert.deepEqual([run.stdout, run.stderr], ['true\n', '']);
});
