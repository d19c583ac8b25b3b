import { test } from 'node:test';
import { dealtShare, SHARE_NAME } from '../support/dealt-share.ts';
import { FAMILY_FIXTURES, hasOthersKernels } from '../support/family-fixtures.ts';
import { testGoldensOf } from '../support/family-tests.ts';
import { testEmulatedFamilies } from '../support/hip-cuda/emulated-goldens.ts';
import { NO_SOFTWARE_GPU } from '../support/software-gpu.ts';
import { WEBGPU_GOLDENS } from '../support/webgpu-goldens.ts';

// Architectures' random models where `npm test` has none: on an emulated card with waves of 64, and those on WebGPU whose kernels others
// have.
await testEmulatedFamilies('gfx942', dealtShare);
if (NO_SOFTWARE_GPU) test(`families on WebGPU, ${SHARE_NAME}`, { skip: NO_SOFTWARE_GPU }, () => {});
else testGoldensOf(dealtShare(FAMILY_FIXTURES.filter(hasOthersKernels)), WEBGPU_GOLDENS);
