import { wholeOf } from '../../src/device/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { type ContractOptions, testDeviceContract } from './contract/index.ts';

/** Declares the selected tests of the device contract for the reference device. */
export function testReferenceContract(only: NonNullable<ContractOptions['only']>): void {
  testDeviceContract('reference', async () => openReferenceDevice({ memoryBytes: 2 ** 30 }), {
    only,
    exactF32: true,
    failQueuedWork: (device) => (stream) => {
      const buffer = device.createBuffer(256, 'gone before its turn');
      stream.upload(new Uint8Array(4), wholeOf(buffer));
      buffer[Symbol.dispose]();
    },
  });
}
