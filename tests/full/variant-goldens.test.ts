import { test } from 'node:test';
import type { NodeCpuOptions } from '../../src/node/open-cpu.ts';
import { FAMILY_FIXTURES } from '../support/family-fixtures.ts';
import { testGoldensOf } from '../support/family-tests.ts';
import { type GoldenDevice, testFloatGoldens, testQuantizedGoldens } from '../support/golden-tests.ts';
import { nativeHere } from '../support/native-kernels.ts';
import { onOneCpu } from '../support/one-cpu.ts';

const { offers, missing } = await nativeHere();
for (const reason of missing) test('goldens on another variant', { skip: reason }, () => {});
const natives = offers.map(({ build }): NodeCpuOptions => ({ cpuKernels: 'native', variant: build.variant }));

for (const options of [...natives, { cpuKernels: 'wasm' } as const]) {
  const { cpuKernels, variant = cpuKernels } = options as NodeCpuOptions;
  const device: GoldenDevice = {
    name: `the CPU device with ${variant} kernels`,
    open: onOneCpu({ ...options, threads: 2 }),
  };
  testFloatGoldens(device, /stories/);
  testQuantizedGoldens(device);
  testGoldensOf(FAMILY_FIXTURES, device);
}
