import { testMutatedBodies } from '../support/mutated-bodies-test.ts';

testMutatedBodies(700, 2026);
