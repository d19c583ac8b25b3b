import { FAMILY_FIXTURES, type FamilyFixture, hasOthersOperators } from './family-fixtures.ts';
import { testGoldensOf, testModelsOn } from './family-tests.ts';
import { WEBGPU_GOLDENS } from './webgpu-goldens.ts';

/** Each kernel of these also occurs in another family here, or in the device contract. */
const OTHERS_KERNELS = [
  'afmoe',
  'command-r',
  'glm4moe',
  'granite',
  'hunyuan-dense',
  'jina-bert-v2',
  'laguna',
  'minicpm3',
  'nomic-bert',
  'nomic-bert-moe',
  'qwen35moe',
  'step35',
];

function hasOthersKernels(family: FamilyFixture): boolean {
  return hasOthersOperators(family) || OTHERS_KERNELS.includes(family.name);
}

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
