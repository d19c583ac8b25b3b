import { test } from 'node:test';
import { REFUSE_COPIES } from '../support/contract/cases/experts.ts';
import { testDeviceContract } from '../support/contract/index.ts';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';
import { everyKernelOnce } from '../support/webgpu-contract.ts';

if (NO_SOFTWARE_GPU) test('the device contract on WebGPU', { skip: NO_SOFTWARE_GPU }, () => {});
else {
  const only = await everyKernelOnce();
  testDeviceContract('webgpu', () => openSoftwareGpu(), { only, unsupported: [REFUSE_COPIES] });
}
