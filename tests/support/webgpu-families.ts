import { FAMILY_FIXTURES, hasOthersOperators } from './family-fixtures.ts';
import { testGoldensOf, testModelsOn } from './family-tests.ts';
import { WEBGPU_GOLDENS } from './webgpu-goldens.ts';

/** Declares the families' tests on WebGPU, of random models those that no other stands for. */
export function testWebGpuFamilies(): void {
  testGoldensOf(
    FAMILY_FIXTURES.filter((family) => !hasOthersOperators(family)),
    WEBGPU_GOLDENS,
  );
}

/** Declares the rest of them, and what their models do besides, which every run holds on the CPU device and the emulator. */
export function testOtherWebGpuFamilies(): void {
  testGoldensOf(FAMILY_FIXTURES.filter(hasOthersOperators), WEBGPU_GOLDENS);
  testModelsOn(WEBGPU_GOLDENS);
}
