import { test } from 'node:test';
import { REFUSE_COPIES } from '../support/contract/cases/experts.ts';
import { testDeviceContract } from '../support/contract/index.ts';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';

if (NO_SOFTWARE_GPU) test('the whole device contract on WebGPU', { skip: NO_SOFTWARE_GPU }, () => {});
else testDeviceContract('webgpu', () => openSoftwareGpu(), { unsupported: [REFUSE_COPIES] });
