import { test } from 'node:test';
import { openCpu } from '../../src/node/open-cpu.ts';
import { testFamilyStates } from '../support/state-tests.ts';

testFamilyStates({
  name: 'cpu',
  brevity: 0.25,
  mixesDrafts: false,
  declare: (claim, work) =>
    void test(claim, async () => {
      await using device = await openCpu({ threads: 1 });
      await work(device);
    }),
});
