import { fail } from '../../base/errors.ts';
import { NativeBuffer } from './memory/native-buffer.ts';
import { allocatePinned } from './memory/native-pinned.ts';
import type { NativeContext } from './native-context.ts';

const BYTES = 64 << 10;

/**
 * Sends 64 KiB to the device and back, and compares: a driver that moves no bytes is found when it is opened, not when a model
 * answers nonsense. Throws `DRIVER_ECHO`. Waits.
 */
export function checkEcho({ driver, ffi, logger }: Pick<NativeContext, 'driver' | 'ffi' | 'logger'>): void {
  using buffer = new NativeBuffer(driver, BYTES, 'echo', () => {});
  using sent = allocatePinned({ driver, ffi, logger }, BYTES, 'echo sent');
  using received = allocatePinned({ driver, ffi, logger }, BYTES, 'echo received');
  sent.bytes.forEach((_, i) => {
    sent.bytes[i] = (i * 167 + (i >> 8) * 13 + (i >> 16)) & 0xff;
  });
  received.bytes.fill(0);
  const stream = driver.createStream('echo');
  try {
    driver.upload(buffer.address, sent.addressOf(sent.bytes), BYTES, stream);
    driver.download(received.addressOf(received.bytes), buffer.address, BYTES, stream);
    driver.synchronizeStream(stream);
  } finally {
    driver.destroyStream(stream);
  }
  const wrong = received.bytes.reduce((count, byte, i) => count + (byte === sent.bytes[i] ? 0 : 1), 0);
  if (wrong > 0) fail('DRIVER_ECHO', { device: driver.device, bytes: BYTES, wrong });
}
