import { test } from 'node:test';
import { openCpu } from '../../src/node/open-cpu.ts';
import { testStates } from '../support/state-tests.ts';

// Texts as long as the claims allow: `state/models` has shorter ones.
testStates({
  name: 'cpu',
  brevity: 1,
  declare: (claim, work) =>
    void test(claim, async () => {
      await using cpu = await openCpu({ threads: 2 });
      await work(cpu);
    }),
});
