import { describe, test } from 'node:test';
import { LOSS_CASES } from '../support/device-loss.ts';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';
import { HUNG_MS } from '../support/hung.ts';

describe('a WebGPU device that is lost', { skip: NO_SOFTWARE_GPU }, () => {
  const open = async () => {
    const device = await openSoftwareGpu();
    return { device, lose: () => device.lose() };
  };
  // The others are about what is above any device, or lose one several times; opening one in software takes seconds.
  for (const { name, run } of LOSS_CASES.filter(({ anyBatch, manyLosses }) => !anyBatch && !manyLosses)) {
    test(name, { timeout: HUNG_MS }, () => run(open));
  }
});
