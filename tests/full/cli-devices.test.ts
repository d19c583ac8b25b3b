import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freeOfAll } from '../../src/cli/commands/models.ts';
import { DeviceGroup, DevicePipeline } from '../../src/devices/group/index.ts';
import type { DeviceReport } from '../../src/node/devices.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
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
  const { stdout } = await run('-d', 'cpu');
  assert.deepEqual([split.code, split.stdout], [0, stdout]);
  for (const stages of ['2x1', '2x2']) {
    const staged = await run('-d', 'cpu', '-t', '2', '--gpus', stages);
    assert.deepEqual([staged.code, staged.stdout], [0, stdout], stages);
  }
  const refused = {
    '2x0': /indices such as 0,2, or stages of devices such as 2x4/,
    '8x9': /--gpus: found 8, expected a whole number of stages, of at most 64 devices together/,
    '0': /Expected all, a number of devices, indices/,
    '1,1': /--gpus: found 1,1, expected a whole number from 1 to 64, all, or different indices/,
    '0,1': /--gpus: found 0,1 with the device cpu, expected a number: cpu has no indices/,
    65: /--gpus: found 65, expected a whole number from 1 to 64/,
    all: /--gpus: found all with the device cpu, expected a number/,
  };
  for (const [gpus, reason] of Object.entries(refused)) {
    const result = await run('-d', 'cpu', '--gpus', gpus);
    assert.equal(result.code, 2, gpus);
    assert.match(result.stderr, reason);
  }
  const throughHost = await run('-d', 'cpu', '-t', '2', '--gpus', '2', '--link', 'host');
  assert.deepEqual([throughHost.code, throughHost.stdout], [0, stdout]);
  const byLibrary = await run('-d', 'cpu', '-t', '2', '--gpus', '2', '--link', 'nccl');
  assert.equal(byLibrary.code, 1);
  assert.match(byLibrary.stderr, /devices of this kind are never linked/);
  for (const gpus of ['1', '2x1']) {
    const alone = await run('-d', 'cpu', '-t', '2', '--gpus', gpus, '--link', 'nccl');
    assert.equal(alone.code, 2, gpus);
    assert.match(
      alone.stderr,
      /--link: found nccl, expected auto or host where there is one device in a stage, or a higher --gpus/,
    );
  }
  const automatic = await run('--gpus', '2');
  if (automatic.code !== 0)
    assert.match(
      automatic.stderr,
      /no GPUs that a model can be split over .* ranks on the CPU .* asked for: --device cpu$/m,
    );
  const served = await runCli(t, ['serve', '--port', '0', '--replicas', '2', '--workers', 'process']);
  assert.deepEqual([served.code, served.stdout], [2, '']);
  assert.match(served.stderr, /'--replicas <count>' cannot be used with option '--workers <list>'/);
  const replicas = await runCli(t, ['serve', '-d', 'cpu', '--gpus', 'all', '--replicas', '2']);
  assert.match(replicas.stderr, /--gpus: found all, expected a number of devices for each replica/);
});

test('layers are on the CPU beside a GPU as --gpu-layers says, or the reason is said', async (t) => {
  const run = (...flags: string[]) => runCli(t, ['run', '--greedy', '-n', '4', '-p', 'x', ...flags]);
  const { stdout } = await run('-d', 'cpu');
  for (const flags of [
    ['-d', 'webgpu', '--gpu-layers', '0'],
    ['-d', 'hip', '--gpus', '0,1', '--gpu-layers', '0'],
    ['-d', 'cpu', '--gpu-layers', 'auto'],
    ['-d', 'cpu', '-t', '2', '--gpus', '2', '--gpu-layers', 'auto'],
  ]) {
    const onCpu = await run(...flags);
    assert.deepEqual([onCpu.code, onCpu.stdout], [0, stdout], flags.join(' '));
  }
  // On the CPU where there is no GPU.
  assert.equal((await run('--gpus', 'all', '--gpu-layers', 'auto')).code, 0);
  const refused: [RegExp, ...string[]][] = [
    [
      /--gpu-layers: found 3, expected 0 layers on a GPU with the device cpu/,
      '-d',
      'cpu',
      '--gpu-layers',
      '3',
    ],
    [
      /--gpu-layers: found 3, expected 0 layers on a GPU with the device cpu/,
      '-d',
      'cpu:0',
      '--gpu-layers',
      '3',
    ],
    [/--workers: found --gpu-layers 3, expected one stage here/, '--workers', 'process', '--gpu-layers', '3'],
    [
      /--workers: found --worker-split tensors with --gpus 2, expected one device here/,
      ...['--workers', 'process', '--worker-split', 'tensors', '--gpus', '2'],
    ],
    [
      /--expert-slots: found 2, expected --experts stream, or 'host'/,
      ...['-d', 'cpu', '--expert-slots', '2'],
    ],
    [
      /--gpus: found 2, expected for --experts host one device/,
      '-d',
      'cpu',
      '--gpus',
      '2',
      '--experts',
      'host',
    ],
    [/--workers: found a:1 and A:1, expected .* each/, '--workers', 'a:1,A:1'],
    [/Expected a number of layers, auto or all/, '--gpu-layers', 'some'],
    [/--gpu-layers: found auto with 2 stages of GPUs/, '--gpu-layers', 'auto', '--gpus', '2x1'],
  ];
  for (const [reason, ...flags] of refused) {
    const result = await run(...flags);
    assert.equal(result.code, 2, flags.join(' '));
    assert.match(result.stderr, reason);
  }
});

test('a device that there is not is refused with what there is', async (t) => {
  const unknown = await runCli(t, ['run', '-p', 'x', '--device', 'abacus']);
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /device.*abacus.*auto, hip, cuda, webgpu, cpu/);
  const second = await runCli(t, ['run', '-p', 'x', '--device', 'cpu:1']);
  assert.equal(second.code, 1);
  assert.match(second.stderr, /cpu:1 is not available/);
});

test('of a pipeline, the memory that devices of its stages share counts once', async () => {
  const cpu = (memoryLimit: number) => openCpu({ threads: 1, memoryLimit });
  const [one, group] = [await cpu(3e8), new DeviceGroup([await cpu(1e8), await cpu(1e8)])];
  await using device = new DevicePipeline([one, group]);
  const { free } = await one.memory();
  assert.equal(await freeOfAll(device), free);
  assert.equal((await device.memory()).free, Math.floor((2 / 3) * free), 'of a group, that of one rank');
});
