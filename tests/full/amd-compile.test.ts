import { testClang, testHiprtc } from '../support/native/amd-compile.ts';
import { allModules } from '../support/native/lowered-modules.ts';

testClang(allModules);
testHiprtc(allModules);
