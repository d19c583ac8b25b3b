import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Device } from '../../src/device/index.ts';
import { cpuRanks } from './rank-devices.ts';
import type { StateDevice } from './state-tests.ts';

/** A group of so many CPU devices, one for all tests of a file. */
export function testOnRanks(ranks: number): StateDevice {
  let opened: Promise<Device> | undefined;
  after(async () => {
    const device = await opened;
    assert.equal(device?.liveObjects() ?? 0, 0);
    await device?.[Symbol.asyncDispose]();
  });
  return {
    name: `${ranks} CPU devices`,
    savesStates: false,
    declare: (claim, work) => void test(claim, async () => work(await (opened ??= cpuRanks(ranks)))),
  };
}
