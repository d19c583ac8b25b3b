import { testForcedCalls } from '../support/forced-calls.ts';

testForcedCalls([2, 3, 4, 5]);
