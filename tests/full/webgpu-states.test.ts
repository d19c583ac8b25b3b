import { test } from 'node:test';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';
import { testStates } from '../support/state-tests.ts';

testStates({
  name: 'WebGPU',
  rows: 12,
  brevity: 0.4,
  options: { deterministic: true },
  declare: (claim, work) =>
    void test(claim, { skip: NO_SOFTWARE_GPU }, async () => {
      await using device = await openSoftwareGpu();
      await work(device);
    }),
});
