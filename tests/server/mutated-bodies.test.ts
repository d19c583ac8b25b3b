import { testMutatedBodies } from '../support/mutated-bodies-test.ts';

testMutatedBodies(2000, 2026);
