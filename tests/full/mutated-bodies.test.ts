import { testMutatedBodies } from '../support/mutated-bodies.ts';

testMutatedBodies(10_000, 2027);
