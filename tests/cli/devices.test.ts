import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceReport } from '../../src/node/devices.ts';
import { runCli } from '../support/run-cli.ts';

test('the CPU is listed with its memory, behind the GPUs or the reasons why there are none', async (t) => {
  const text = await runCli(t, ['devices']);
  assert.equal(text.code, 0);
  assert.match(text.stdout, /^cpu: .+\n {2}memory {2}.* free of .*\n/m);
  const reports = JSON.parse((await runCli(t, ['devices', '--json'])).stdout) as DeviceReport[];
  assert.deepEqual([...new Set(reports.map(({ backend }) => backend))], ['hip', 'cuda', 'cpu']);
  const { memory, details } = reports.at(-1) ?? {};
  assert.ok(memory && memory.free > 0 && memory.free <= memory.total);
  assert.ok(Number(details?.threads) >= 1);
  for (const { device, name, error } of reports) {
    assert.ok((name === undefined) !== (error === undefined), `${device} has a name or a reason`);
  }
});

test('a device that there is not is refused with what there is', async (t) => {
  const unknown = await runCli(t, ['run', '-p', 'x', '--device', 'abacus']);
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /device.*abacus.*auto, hip, cuda, cpu/);
  const second = await runCli(t, ['run', '-p', 'x', '--device', 'cpu:1']);
  assert.equal(second.code, 1);
  assert.match(second.stderr, /cpu:1 is not available/);
});
