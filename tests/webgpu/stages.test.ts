import { testGoldensOf } from '../support/family-tests.ts';
import type { GoldenDevice } from '../support/golden-tests.ts';
import { onOnePipeline } from '../support/rank-devices.ts';
import { DevicePipeline } from '../../src/devices/group/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { servedPair } from '../support/remote-pair.ts';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';
import { test } from 'node:test';
import { familiesNamed } from '../support/named.ts';

/** Dense, a mixture, latent attention, a recurrent hybrid and RWKV. */
const NAMES = ['llama', 'qwen3moe', 'deepseek2', 'qwen35', 'rwkv7'];
const ROWS = 32;

const open = onOnePipeline(
  async () =>
    new DevicePipeline([await openCpu({ threads: 1, cpuKernels: 'wasm' }), await openSoftwareGpu()]),
);
const device: GoldenDevice = {
  name: 'WebGPU beside the CPU',
  exact: true,
  rows: ROWS,
  open: (path, options) => open(path, { ...options, batch: Math.min(options.batch ?? ROWS, ROWS) }),
  declare: (name, body) => {
    test(name, { skip: NO_SOFTWARE_GPU }, body);
  },
};
testGoldensOf(familiesNamed(NAMES), device);

const openRemote = onOnePipeline(async () => {
  const gpu = await openSoftwareGpu();
  const { remote, serving } = await servedPair(gpu);
  void serving.then(() => gpu[Symbol.asyncDispose]());
  return new DevicePipeline([remote, await openCpu({ threads: 1, cpuKernels: 'wasm' })]);
});
testGoldensOf(familiesNamed(['llama', 'qwen3moe', 'rwkv7']), {
  ...device,
  name: 'WebGPU over a connection, before the CPU',
  open: (path, options) => openRemote(path, { ...options, batch: Math.min(options.batch ?? ROWS, ROWS) }),
});
