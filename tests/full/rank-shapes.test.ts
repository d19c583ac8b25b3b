import { testShards } from '../support/rank-shapes.ts';

testShards(1000);
