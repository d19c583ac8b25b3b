import { testReferenceContract } from '../support/reference-contract.ts';

// Operators compare it with itself, which `npm run test:full` does to see that it writes nothing else; what it computes is held
// to values that were computed by hand.
testReferenceContract((test) => !test.startsWith('operator '));
