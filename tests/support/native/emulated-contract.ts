import { after, before, test } from 'node:test';
import { type Device, wholeOf } from '../../../src/device/index.ts';
import { type ContractOptions, testDeviceContract } from '../contract/index.ts';
import { findCompiler } from '../emulator/build-emulator.ts';
import { Emulator, STATUS, withDevice } from './emulator.ts';
import { caseGraphs } from './lowered-modules.ts';

/** Compiles the cases' kernels on all processors, where the tests would compile one after the other; the cache keeps them. */
async function compileCases(device: Device): Promise<void> {
  await Promise.all(caseGraphs().map((graph) => device.compile(graph)));
}

/** Declares the device contract's tests for an emulated GPU; they are skipped, with the reason, where it cannot be built. */
export async function testEmulatedContract(target: string): Promise<void> {
  const compiler = findCompiler();
  if ('reason' in compiler) {
    test(`device contract: emulated ${target}`, { skip: compiler.reason }, () => {});
    return;
  }
  const emulator = await Emulator.open(target);
  after(() => emulator[Symbol.asyncDispose]());
  before(() => withDevice(emulator, compileCases));
  const options: ContractOptions = {
    failQueuedWork: (device) => (stream) => {
      using buffer = device.createBuffer(256, 'target');
      emulator.control.failCall('hipMemcpyAsync', 1, STATUS.launchResources);
      stream.upload(new Uint8Array(4), wholeOf(buffer));
    },
  };
  testDeviceContract(`emulated ${target}`, async () => emulator.device(), options);
}
