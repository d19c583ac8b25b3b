import { test } from 'node:test';
import { testFamilies } from '../support/family-tests.ts';
import { NO_SOFTWARE_GPU } from '../support/software-gpu.ts';
import { WEBGPU_GOLDENS } from '../support/webgpu-goldens.ts';

if (NO_SOFTWARE_GPU) test('families on WebGPU', { skip: NO_SOFTWARE_GPU }, () => {});
else testFamilies(WEBGPU_GOLDENS);
