import { testReferenceStates } from '../support/state-tests.ts';

testReferenceStates(/hybrid|Gemma|Qwen/);
