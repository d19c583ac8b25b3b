import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCli } from '../support/run-cli.ts';

test('the CPU is listed with its memory', async (t) => {
  const text = await runCli(t, ['devices']);
  assert.equal(text.code, 0);
  assert.match(text.stdout, /^cpu: .+\n {2}memory {2}.* free of .*\n/);
  const [cpu] = JSON.parse((await runCli(t, ['devices', '--json'])).stdout);
  assert.equal(cpu.backend, 'cpu');
  assert.ok(cpu.memory.free > 0 && cpu.memory.free <= cpu.memory.total);
  assert.ok(cpu.details.threads >= 1);
});
