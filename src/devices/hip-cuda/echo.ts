import { fail } from '../../base/errors.ts';
import { HipCudaBuffer } from './memory/hip-cuda-buffer.ts';
import { allocatePinned } from './memory/hip-cuda-pinned.ts';
import type { HipCudaContext } from './streams/hip-cuda-context.ts';

const BYTES = 64 << 10;

/**
 * Copies 64 KiB to the device and back, and compares: a driver that corrupts data is detected on opening, not when a
 * model answers nonsense. Throws `DRIVER_ECHO`. Waits.
 */
export function checkEcho({ driver, ffi, logger }: Pick<HipCudaContext, 'driver' | 'ffi' | 'logger'>): void {
  using buffer = new HipCudaBuffer(driver, BYTES, 'echo');
  using sent = allocatePinned({ driver, ffi, logger }, BYTES, 'echo sent');
  using received = allocatePinned({ driver, ffi, logger }, BYTES, 'echo received');
  const [words, echo] = [sent.bytes, received.bytes];
  for (let i = 0; i < BYTES; i++) words[i] = (i * 167 + (i >> 8) * 13 + (i >> 16)) & 0xff;
  echo.fill(0);
  const stream = driver.createStream('echo');
  try {
    driver.upload(buffer.address, sent.addressOf(words), BYTES, stream);
    driver.download(received.addressOf(echo), buffer.address, BYTES, stream);
    driver.synchronizeStream(stream);
  } finally {
    driver.destroyStream(stream);
  }
  let wrong = 0;
  for (let i = 0; i < BYTES; i++) if (echo[i] !== words[i]) wrong++;
  if (wrong > 0) fail('DRIVER_ECHO', { device: driver.device, bytes: BYTES, wrong });
}
