import { FAMILY_FIXTURES, hasOthersKernels } from './family-fixtures.ts';
import { testGoldensOf, testModelsOn } from './family-tests.ts';
import { WEBGPU_GOLDENS } from './webgpu-goldens.ts';

/** Declares the families' tests on WebGPU, except for random models that others represent. */
export function testWebGpuFamilies(): void {
  testGoldensOf(
    FAMILY_FIXTURES.filter((family) => !hasOthersKernels(family)),
    WEBGPU_GOLDENS,
  );
}

/**
 * Declares the remaining ones, and the other tests of their models, which every run performs on the CPU device and the
 * emulator.
 */
export function testOtherWebGpuFamilies(): void {
  testGoldensOf(FAMILY_FIXTURES.filter(hasOthersKernels), WEBGPU_GOLDENS);
  testModelsOn(WEBGPU_GOLDENS);
}
