import { testMutatedBodies } from '../support/mutated-bodies-test.ts';

testMutatedBodies(10_000, 2027);
