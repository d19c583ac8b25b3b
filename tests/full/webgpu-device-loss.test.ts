import { describe, test } from 'node:test';
import { LOSS_CASES } from '../support/device-loss.ts';
import { HUNG_MS } from '../support/hung.ts';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';

describe('a WebGPU device that is lost several times', { skip: NO_SOFTWARE_GPU }, () => {
  const open = async () => {
    const device = await openSoftwareGpu();
    return { device, lose: () => device.lose() };
  };
  for (const { name, run } of LOSS_CASES.filter(({ manyLosses }) => manyLosses)) {
    test(name, { timeout: HUNG_MS }, () => run(open));
  }
});
