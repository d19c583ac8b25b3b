import { test } from 'node:test';
import { testQuantizedGoldens } from '../support/golden-tests.ts';
import { NO_SOFTWARE_GPU } from '../support/software-gpu.ts';
import { WEBGPU_GOLDENS } from '../support/webgpu-goldens.ts';

if (NO_SOFTWARE_GPU) test('quantized goldens on WebGPU', { skip: NO_SOFTWARE_GPU }, () => {});
else testQuantizedGoldens(WEBGPU_GOLDENS);
