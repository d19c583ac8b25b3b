import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Device } from '../../src/device/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { testStates } from '../support/state-tests.ts';

// One for all, whose threads take as long to start as a text takes.
let cpu: Device;
before(async () => {
  cpu = await openCpu({ threads: 2 });
});
after(async () => {
  assert.equal(cpu.liveObjects(), 0);
  await cpu[Symbol.asyncDispose]();
});

// `full/reference-states` has the reference device, which takes longer.
testStates({ name: 'cpu', brevity: 0.5, declare: (claim, work) => void test(claim, () => work(cpu)) });
