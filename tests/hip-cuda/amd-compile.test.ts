import { testClang, testHiprtc } from '../support/hip-cuda/amd-compile.ts';
import { dealtKernels } from '../support/hip-cuda/dealt-kernels.ts';
import { modelModules } from '../support/hip-cuda/lowered-modules.ts';

// Every text is compiled by clang for a target, and a few kernels by hipRTC, which goes the way that users' kernels go;
// tests/full/ compiles more of each text, and every kernel for every target.
testClang(dealtKernels(60));
testHiprtc(async (target, order) => (await modelModules(target)).filter((_, i) => i % 30 === order));
