import { isRocmforgeError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Address, BufferRange } from '../../../device/index.ts';
import type { Driver } from '../driver/driver.ts';
import { INVALID_VALUE } from '../driver/driver-status.ts';
import { addressOf } from './hip-cuda-buffer.ts';
import type { StreamMemory } from './stream-memory.ts';

/** A stream, and its memory for staging reads. */
export interface ReadingStream {
  readonly handle: Address;
  readonly detour: StreamMemory;
}

/**
 * Copies to the host from any offset. Some HIP drivers refuse a copy that starts inside an allocation: such reads are
 * then staged through a copy on the device, with one message in the log.
 */
export class HostReads {
  readonly #driver: Driver;
  readonly #logger: Logger;
  #refusesOffsets = false;

  constructor(driver: Driver, logger: Logger) {
    this.#driver = driver;
    this.#logger = logger;
  }

  /** Queues the copy of a range's first `bytes` bytes. */
  read(to: Address, source: BufferRange, bytes: number, stream: ReadingStream): void {
    const from = addressOf(source);
    if (this.#refusesOffsets && source.offset > 0) {
      this.#readByDetour(to, from, bytes, stream);
      return;
    }
    try {
      this.#driver.download(to, from, bytes, stream.handle);
    } catch (error) {
      if (source.offset === 0 || !isRefusal(error)) throw error;
      this.#readByDetour(to, from, bytes, stream);
      this.#refusesOffsets = true;
      this.#logger.warn(
        'the driver does not read from within an allocation: reads take a copy on the device',
        {
          device: this.#driver.device,
          reason: error.message,
        },
      );
    }
  }

  #readByDetour(to: Address, from: Address, bytes: number, { handle, detour }: ReadingStream): void {
    const between = detour.take(bytes);
    this.#driver.copy(between, from, bytes, handle);
    this.#driver.download(to, between, bytes, handle);
  }
}

function isRefusal(error: unknown): error is Error {
  return isRocmforgeError(error, 'DRIVER_CALL') && error.params.status === INVALID_VALUE;
}
