import { test } from 'node:test';
import { dealtShare, SHARE_NAME } from '../support/dealt-share.ts';
import { FAMILY_FIXTURES, hasOthersKernels } from '../support/family-fixtures.ts';
import { testGoldensOf } from '../support/family-tests.ts';
import {
  BESIDE_CPU,
  testEmulatedFamilies,
  testEmulatedStages,
} from '../support/hip-cuda/emulated-goldens.ts';
import { NO_SOFTWARE_GPU } from '../support/software-gpu.ts';
import { OTHER_PREDICTORS, testPredictions } from '../support/predicting-texts.ts';
import { WEBGPU_GOLDENS } from '../support/webgpu-goldens.ts';

// Predictions of models on the CPU, whose goldens `npm test` has.
for (const architecture of dealtShare(OTHER_PREDICTORS)) testPredictions(architecture);

// Architectures' random models where `npm test` has none: on an emulated card with waves of 64, alone and as a stage behind the CPU, and
// those on WebGPU whose kernels others have.
await testEmulatedFamilies('gfx942', dealtShare);
await testEmulatedStages('gfx942', [{ stages: [0, 1], names: dealtShare(BESIDE_CPU) }]);
if (NO_SOFTWARE_GPU) test(`families on WebGPU, ${SHARE_NAME}`, { skip: NO_SOFTWARE_GPU }, () => {});
else testGoldensOf(dealtShare(FAMILY_FIXTURES.filter(hasOthersKernels)), WEBGPU_GOLDENS);
