import { test } from 'node:test';
import { testAllLogits, testFloatGoldens } from '../support/golden-tests.ts';
import { NO_SOFTWARE_GPU } from '../support/software-gpu.ts';
import { WEBGPU_GOLDENS } from '../support/webgpu-goldens.ts';

if (NO_SOFTWARE_GPU) test('goldens on WebGPU', { skip: NO_SOFTWARE_GPU }, () => {});
else {
  testFloatGoldens({ ...WEBGPU_GOLDENS, positions: 64 });
  // RWKV-7 takes SwiftShader a while: `npm run test:full` has it, and the families' tests a smaller one.
  testAllLogits(WEBGPU_GOLDENS, /dense/);
  // Quantized models, too: here the browser's tests stand for them, in which the bundled one answers.
}
