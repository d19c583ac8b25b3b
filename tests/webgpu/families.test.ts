import { test } from 'node:test';
import { NO_SOFTWARE_GPU } from '../support/software-gpu.ts';
import { testWebGpuFamilies } from '../support/webgpu-families.ts';

if (NO_SOFTWARE_GPU) test('families on WebGPU', { skip: NO_SOFTWARE_GPU }, () => {});
else testWebGpuFamilies();
