import { after, test } from 'node:test';
import { wholeOf } from '../../src/device/index.ts';
import { type ContractOptions, testDeviceContract } from '../support/contract/index.ts';
import { findCompiler } from '../support/emulator/build-emulator.ts';
import { Emulator, STATUS } from '../support/native/emulator.ts';

const compiler = findCompiler();
if ('reason' in compiler) test('device contract: emulated GPU', { skip: compiler.reason }, () => {});
else {
  const emulator = await Emulator.open('gfx1100');
  after(() => emulator[Symbol.asyncDispose]());
  const options: ContractOptions = {
    failQueuedWork: (device) => (stream) => {
      using buffer = device.createBuffer(256, 'target');
      emulator.control.failCall('hipMemcpyAsync', 1, STATUS.launchResources);
      stream.upload(new Uint8Array(4), wholeOf(buffer));
    },
  };
  testDeviceContract('emulated gfx1100', async () => emulator.device(), options);
}
