import { testReferenceContract } from '../support/reference-contract.ts';

testReferenceContract((test) => test.startsWith('operator '));
