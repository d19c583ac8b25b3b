import { test } from 'node:test';
import { NO_SOFTWARE_GPU } from '../support/software-gpu.ts';
import { testOtherWebGpuFamilies } from '../support/webgpu-families.ts';

if (NO_SOFTWARE_GPU) test('other families on WebGPU', { skip: NO_SOFTWARE_GPU }, () => {});
else testOtherWebGpuFamilies();
