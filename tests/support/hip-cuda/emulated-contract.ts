import { after, before, test } from 'node:test';
import { type Device, wholeOf } from '../../../src/device/index.ts';
import { ALL_CASES } from '../contract/cases/index.ts';
import { type ContractOptions, testDeviceContract } from '../contract/index.ts';
import { testName } from '../contract/operators.ts';
import { findCompiler } from '../emulator/build-emulator.ts';
import { Emulator, STATUS, withDevice } from './emulator.ts';
import { caseGraph } from './lowered-modules.ts';

/**
 * Compiles the cases' kernels on all processors in advance, since the tests would compile them one by one; the cache
 * keeps them.
 */
async function compileCases(device: Device, only: (test: string) => boolean): Promise<void> {
  const cases = ALL_CASES.filter((of) => only(testName(of)));
  await Promise.all(cases.map((of) => device.compile(caseGraph(of))));
}

/**
 * Declares the selected tests of the device contract for an emulated GPU; they are skipped, with the reason, if it
 * cannot be built.
 */
export async function testEmulatedContract(
  target: string,
  only: (test: string) => boolean = () => true,
): Promise<void> {
  const compiler = findCompiler();
  if ('reason' in compiler) {
    test(`device contract: emulated ${target}`, { skip: compiler.reason }, () => {});
    return;
  }
  const emulator = await Emulator.open(target);
  after(() => emulator[Symbol.asyncDispose]());
  before(() => withDevice(emulator, (device) => compileCases(device, only)));
  const options: ContractOptions = {
    only,
    failQueuedWork: (device) => (stream) => {
      using buffer = device.createBuffer(256, 'target');
      emulator.control.failCall('hipMemcpyAsync', 1, STATUS.launchResources);
      stream.upload(new Uint8Array(4), wholeOf(buffer));
    },
  };
  testDeviceContract(`emulated ${target}`, async () => emulator.device(), options);
}
