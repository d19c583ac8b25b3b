import { testClang, testHiprtc } from '../support/native/amd-compile.ts';
import { AMD_TARGETS } from '../support/native/amd-targets.ts';
import { allModules, modelModules } from '../support/native/lowered-modules.ts';

// Every other kernel is compiled by clang for one target, dealt out like cards, and a few by hipRTC, which goes the way that
// users' kernels go; tests/full/ compiles every kernel for every target.
testClang(async (target, order) =>
  (await allModules(target)).filter((_, i) => i % (2 * AMD_TARGETS.length) === order),
);
testHiprtc(async (target, order) => (await modelModules(target)).filter((_, i) => i % 12 === order));
