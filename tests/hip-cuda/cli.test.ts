import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceReport } from '../../src/node/devices.ts';
import { NO_EMULATOR, runWithGpu, runWithGpus } from '../support/hip-cuda/emulated-cli.ts';
import { tinyModelFile } from '../support/run-cli.ts';

test('a GPU is listed first, with what there is to know about it', { skip: NO_EMULATOR }, async (t) => {
  const [gpu] = JSON.parse((await runWithGpu(t, 'devices', '--json')).stdout) as DeviceReport[];
  assert.equal(gpu?.device, 'hip:0');
  assert.equal(gpu.name, 'Emulated gfx1100');
  assert.deepEqual(gpu.details, {
    target: 'gfx1100',
    bus: '0000:00:00.0',
    multiprocessors: 2,
    driver: '7.0.51831',
    library: 'libamdhip64.so.7',
    compiler: 'hiprtc 7.0 (libhiprtc.so.7)',
  });
  assert.ok(gpu.memory && gpu.memory.free > 0 && gpu.memory.free <= gpu.memory.total);
});

test(
  'a GPU writes what the CPU writes, and is taken without being named',
  { skip: NO_EMULATOR },
  async (t) => {
    const model = await tinyModelFile(t);
    const run = ['run', '-m', model, '-p', 'a', '--greedy', '--ignore-end', '-n', '8', '-c', '64'];
    const cpu = await runWithGpu(t, ...run, '--device', 'cpu');
    assert.ok(cpu.stdout.length > 8);
    const gpu = await runWithGpu(t, ...run, '--log', 'debug');
    assert.match(gpu.stderr, /device opened.*hip/);
    assert.equal(gpu.stdout, cpu.stdout);
    assert.equal((await runWithGpu(t, ...run, '--device', 'hip')).stdout, cpu.stdout);
  },
);

test('a GPU beside the CPU writes what the CPU writes', { skip: NO_EMULATOR }, async (t) => {
  const model = await tinyModelFile(t);
  const run = ['run', '-m', model, '-p', 'a', '--greedy', '--ignore-end', '-n', '8', '-c', '64'];
  const cpu = await runWithGpu(t, ...run, '--device', 'cpu');
  for (const device of ['auto', 'hip']) {
    const beside = await runWithGpu(t, ...run, '--device', device, '--gpu-layers', '2');
    assert.deepEqual([beside.code, beside.stdout], [0, cpu.stdout], device);
  }
  const inspect = ['inspect', model, '--fit', '--gpu-layers', '2'];
  const fit = await runWithGpu(t, ...inspect);
  assert.match(fit.stdout, /free on cpu \(2 layers\) and hip \(1 layers\)/);
  assert.match(fit.stdout, /\n +0 +cpu +2 .*\n +1 +hip +1 /);
  const { memory: need } = JSON.parse((await runWithGpu(t, ...inspect, '--json')).stdout) as {
    memory: { fit: { stages: { layers: number }[] } };
  };
  assert.deepEqual(
    need.fit.stages.map(({ layers }) => layers),
    [2, 1],
  );
});

test('stages of GPUs write what one writes', { skip: NO_EMULATOR }, async (t) => {
  const model = await tinyModelFile(t);
  const run = ['run', '-m', model, '-p', 'a', '--greedy', '--ignore-end', '-n', '8', '-c', '64'];
  const staged = await runWithGpus(t, 4, [...run, '--gpus', '2x2']);
  assert.deepEqual([staged.code, staged.stdout], [0, (await runWithGpu(t, ...run)).stdout]);
});

test('two GPUs write together what one writes', { skip: NO_EMULATOR }, async (t) => {
  const model = await tinyModelFile(t);
  const run = ['run', '-m', model, '-p', 'a', '--greedy', '--ignore-end', '-n', '8', '-c', '64'];
  const one = await runWithGpu(t, ...run);
  const two = await runWithGpus(t, 2, [...run, '--gpus', 'all', '--log', 'debug']);
  assert.match(two.stderr, /device opened.*2 x Emulated gfx1100/);
  assert.doesNotMatch(two.stderr, /devices are not linked/);
  assert.equal(two.stdout, one.stdout);
});
