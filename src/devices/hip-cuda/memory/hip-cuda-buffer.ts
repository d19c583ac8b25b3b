import { Lifetime } from '../../../base/disposal.ts';
import { invariant } from '../../../base/errors.ts';
import type { Address, BufferRange, DeviceBuffer } from '../../../device/index.ts';
import type { Driver } from '../driver/driver.ts';

/** One allocation on the device. */
export class HipCudaBuffer implements DeviceBuffer {
  readonly #driver: Driver;
  readonly #address: Address;
  readonly #lifetime: Lifetime;
  readonly #ended: (buffer: HipCudaBuffer) => void;

  /** Throws `OUT_OF_MEMORY`. */
  constructor(
    driver: Driver,
    readonly byteLength: number,
    readonly label: string,
    ended: (buffer: HipCudaBuffer) => void,
  ) {
    this.#driver = driver;
    this.#lifetime = new Lifetime(`buffer ${label}`);
    this.#ended = ended;
    // A driver returns no address for an empty allocation.
    this.#address = driver.allocate(Math.max(1, byteLength), label);
  }

  /** Its device address. Throws `DISPOSED` after disposal. */
  get address(): Address {
    this.#lifetime.check();
    return this.#address;
  }

  /** The driver waits for queued work, then frees the memory. */
  [Symbol.dispose](): void {
    if (!this.#lifetime.end()) return;
    this.#ended(this);
    this.#driver.free(this.#address);
  }
}

/** The address of a range of a HIP or CUDA buffer. Throws `DISPOSED` after the buffer's disposal. */
export function addressOf({ buffer, offset }: BufferRange): Address {
  invariant(buffer instanceof HipCudaBuffer, 'a HIP or CUDA device works on its own buffers');
  return buffer.address + offset;
}
