import type { Address } from '../../../device/index.ts';
import type { Driver } from '../driver/driver.ts';
import { HipCudaBuffer } from './hip-cuda-buffer.ts';

/** Device memory for one purpose of one stream, which can be reused because a stream works in order. It only grows. */
export class StreamMemory implements Disposable {
  readonly #driver: Driver;
  readonly #label: string;
  #buffer: HipCudaBuffer | undefined;

  constructor(driver: Driver, label: string) {
    this.#driver = driver;
    this.#label = label;
  }

  /** At least so many bytes. Throws `OUT_OF_MEMORY`. */
  take(bytes: number): Address {
    if (!this.#buffer || this.#buffer.byteLength < bytes) {
      // The driver frees the smaller one once the work that reads it is done.
      this.#buffer?.[Symbol.dispose]();
      this.#buffer = undefined;
      this.#buffer = new HipCudaBuffer(this.#driver, bytes, this.#label);
    }
    return this.#buffer.address;
  }

  [Symbol.dispose](): void {
    this.#buffer?.[Symbol.dispose]();
  }
}
