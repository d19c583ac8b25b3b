import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Held } from '../support/model-cycles.ts';
import { NO_SOFTWARE_GPU } from '../support/software-gpu.ts';

const LIVES = fileURLToPath(new URL('../support/webgpu-lives.js', import.meta.url));

/**
 * The C library keeps what threads free, by default in arenas of hundreds of mebibytes: told to give it back at once, a
 * process's resident memory is what it holds.
 */
const GIVE_BACK = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '65536',
  MALLOC_TRIM_THRESHOLD_: '65536',
};

test('two hundred lives of the bundled model on WebGPU', { skip: NO_SOFTWARE_GPU }, async (t) => {
  const lives = spawn(process.execPath, [LIVES, '200', '20'], {
    env: { ...process.env, ...GIVE_BACK },
    stdio: ['ignore', 'pipe', 'inherit'],
    signal: t.signal,
  });
  const exit = new Promise((resolve) => lives.once('close', resolve));
  let last = '';
  let life = 0;
  for await (const line of createInterface(lives.stdout)) {
    if (++life % 20 === 0) t.diagnostic(line);
    last = line;
  }
  assert.equal(await exit, 0);
  const { settled, end } = JSON.parse(last) as { settled: Held; end: Held };
  assert.equal(end.descriptors, settled.descriptors);
  assert.ok(end.threads <= settled.threads);
  assert.ok(end.mebibytes - settled.mebibytes < 50, last);
});
