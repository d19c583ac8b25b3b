import { test } from 'node:test';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { testStates } from '../support/state-tests.ts';

testStates({
  name: 'cpu',
  declare: (claim, work) =>
    void test(claim, async () => {
      await using device = await openCpu({ threads: 2 });
      await work(device);
    }),
});

testStates({
  name: 'reference',
  brevity: 0.4,
  declare: (claim, work) =>
    void test(claim, async () => {
      await using device = openReferenceDevice();
      await work(device);
    }),
});
