import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_EMULATOR, runWithGpu } from '../support/hip-cuda/emulated-cli.ts';

test(
  'the bundled model answers on a GPU, which is taken without being named',
  { skip: NO_EMULATOR },
  async (t) => {
    const question = 'Please tell me: what is the capital of France?';
    const run = ['run', '-p', question, '--greedy', '-n', '3', '-c', '64', '-b', '4'];
    const gpu = await runWithGpu(t, ...run, '--log', 'debug');
    assert.match(gpu.stderr, /device opened.*hip/);
    assert.equal(gpu.stdout.trim(), (await runWithGpu(t, ...run, '--device', 'cpu')).stdout.trim());
    assert.match(gpu.stdout, /The capital/);
  },
);
