import { testClang } from '../support/hip-cuda/amd-compile.ts';
import { dealtKernels } from '../support/hip-cuda/dealt-kernels.ts';

// Of each text as much as a continuous integration has time for; every kernel for every target is in amd-compile.
testClang(dealtKernels(6));
