import { testMutatedBodies } from '../support/mutated-bodies.ts';

testMutatedBodies(2000, 2026);
