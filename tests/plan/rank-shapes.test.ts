import { testShards } from '../support/rank-shapes.ts';

// A thousand: tests/full/rank-shapes.test.ts.
testShards(2);
