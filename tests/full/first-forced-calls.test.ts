import { testForcedCalls } from '../support/forced-calls.ts';

testForcedCalls([1]);
