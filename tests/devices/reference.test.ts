import { wholeOf } from '../../src/device/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { testDeviceContract } from '../support/contract/index.ts';

testDeviceContract('reference', async () => openReferenceDevice({ memoryBytes: 2 ** 30 }), {
  exactF32: true,
  failQueuedWork: (device) => (stream) => {
    const buffer = device.createBuffer(256, 'gone before its turn');
    stream.upload(new Uint8Array(4), wholeOf(buffer));
    buffer[Symbol.dispose]();
  },
});
