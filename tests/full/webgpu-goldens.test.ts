import { test } from 'node:test';
import { testAllLogits, testFloatGoldens } from '../support/golden-tests.ts';
import { NO_SOFTWARE_GPU } from '../support/software-gpu.ts';
import { WEBGPU_GOLDENS } from '../support/webgpu-goldens.ts';

if (NO_SOFTWARE_GPU) test('whole goldens on WebGPU', { skip: NO_SOFTWARE_GPU }, () => {});
else {
  testAllLogits(WEBGPU_GOLDENS, /rwkv/);
  testFloatGoldens(WEBGPU_GOLDENS);
}
