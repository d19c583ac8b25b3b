import { FAMILY_FIXTURES, type FamilyFixture, hasOthersOperators } from './family-fixtures.ts';
import { testGoldensOf, testModelsOn } from './family-tests.ts';
import { WEBGPU_GOLDENS } from './webgpu-goldens.ts';

/** Each kernel of these is one of another family's here, or of the device contract's. */
const OTHERS_KERNELS = ['glm4moe', 'nomic-bert', 'qwen35moe'];

function hasOthersKernels(family: FamilyFixture): boolean {
  return hasOthersOperators(family) || OTHERS_KERNELS.includes(family.name);
}

/** Declares the families' tests on WebGPU, of random models those that no other stands for. */
export function testWebGpuFamilies(): void {
  testGoldensOf(
    FAMILY_FIXTURES.filter((family) => !hasOthersKernels(family)),
    WEBGPU_GOLDENS,
  );
}

/** Declares the rest of them, and what their models do besides, which every run holds on the CPU device and the emulator. */
export function testOtherWebGpuFamilies(): void {
  testGoldensOf(FAMILY_FIXTURES.filter(hasOthersKernels), WEBGPU_GOLDENS);
  testModelsOn(WEBGPU_GOLDENS);
}
