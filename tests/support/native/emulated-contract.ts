import { after, test } from 'node:test';
import { wholeOf } from '../../../src/device/index.ts';
import { type ContractOptions, testDeviceContract } from '../contract/index.ts';
import { findCompiler } from '../emulator/build-emulator.ts';
import { Emulator, STATUS } from './emulator.ts';

/** Declares the device contract's tests for an emulated GPU; they are skipped, with the reason, where it cannot be built. */
export async function testEmulatedContract(target: string): Promise<void> {
  const compiler = findCompiler();
  if ('reason' in compiler) {
    test(`device contract: emulated ${target}`, { skip: compiler.reason }, () => {});
    return;
  }
  const emulator = await Emulator.open(target);
  after(() => emulator[Symbol.asyncDispose]());
  const options: ContractOptions = {
    failQueuedWork: (device) => (stream) => {
      using buffer = device.createBuffer(256, 'target');
      emulator.control.failCall('hipMemcpyAsync', 1, STATUS.launchResources);
      stream.upload(new Uint8Array(4), wholeOf(buffer));
    },
  };
  testDeviceContract(`emulated ${target}`, async () => emulator.device(), options);
}
