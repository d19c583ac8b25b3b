import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceReport } from '../../src/node/devices.ts';
import { runCli } from '../support/run-cli.ts';

test('the CPU is listed with its memory, behind the GPUs or the reasons why there are none', async (t) => {
  const text = await runCli(t, ['devices']);
  assert.equal(text.code, 0);
  assert.match(text.stdout, /^cpu: .+\n {2}memory {2}.* free of .*\n/m);
  const reports = JSON.parse((await runCli(t, ['devices', '--json'])).stdout) as DeviceReport[];
  assert.deepEqual([...new Set(reports.map(({ backend }) => backend))], ['hip', 'cuda', 'webgpu', 'cpu']);
  const { memory, details } = reports.at(-1) ?? {};
  assert.ok(memory && memory.free > 0 && memory.free <= memory.total);
  assert.ok(Number(details?.threads) >= 1);
  for (const { device, name, error } of reports) {
    assert.ok((name === undefined) !== (error === undefined), `${device} has a name or a reason`);
  }
});

test('a model is split over the devices that --gpus names, or the reason is said', async (t) => {
  const run = (...flags: string[]) => runCli(t, ['run', '--greedy', '-n', '4', '-p', 'x', ...flags]);
  const split = await run('-d', 'cpu', '-t', '2', '--gpus', '2');
  assert.deepEqual([split.code, split.stdout], [0, (await run('-d', 'cpu')).stdout]);
  const refused = {
    '2x2': /indices such as 0,2\. Stages of layers \(2x2\) are not supported/,
    '0': /Expected all, a number of devices, or indices/,
    '1,1': /tensorParallel: found 1,1, expected a whole number from 1 to 64, all, or different indices/,
    '0,1': /tensorParallel: found 0,1 with the device cpu, expected a number: cpu has no indices/,
    all: /tensorParallel: found all with the device cpu, expected a number/,
  };
  for (const [gpus, reason] of Object.entries(refused)) {
    const result = await run('-d', 'cpu', '--gpus', gpus);
    assert.equal(result.code, 2, gpus);
    assert.match(result.stderr, reason);
  }
  const replicas = await runCli(t, ['serve', '-d', 'cpu', '--gpus', 'all', '--replicas', '2']);
  assert.match(replicas.stderr, /tensorParallel: found all, expected a number of devices for each replica/);
});

test('a device that there is not is refused with what there is', async (t) => {
  const unknown = await runCli(t, ['run', '-p', 'x', '--device', 'abacus']);
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /device.*abacus.*auto, hip, cuda, webgpu, cpu/);
  const second = await runCli(t, ['run', '-p', 'x', '--device', 'cpu:1']);
  assert.equal(second.code, 1);
  assert.match(second.stderr, /cpu:1 is not available/);
});
