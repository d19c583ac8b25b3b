import { testClang, testHiprtc } from '../support/hip-cuda/amd-compile.ts';
import { allModules } from '../support/hip-cuda/lowered-modules.ts';

testClang(allModules);
testHiprtc(allModules);
