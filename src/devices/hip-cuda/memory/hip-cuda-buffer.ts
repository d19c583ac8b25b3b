import { Lifetime } from '../../../base/disposal.ts';
import { invariant } from '../../../base/errors.ts';
import type { Address, BufferRange, DeviceBuffer } from '../../../device/index.ts';
import type { Driver } from '../driver/driver.ts';

/** One allocation on the device, or of host memory that its kernels reach. */
export class HipCudaBuffer implements DeviceBuffer {
  readonly #driver: Driver;
  readonly #address: Address;
  readonly #lifetime: Lifetime;
  readonly #ended: (buffer: HipCudaBuffer) => void;
  /** Whose memory it is; the host's is pinned, and has the same address on the device. */
  readonly place: 'device' | 'host';

  /** Throws `OUT_OF_MEMORY`. */
  constructor(
    driver: Driver,
    readonly byteLength: number,
    readonly label: string,
    {
      ended = () => {},
      place = 'device',
    }: { ended?: (buffer: HipCudaBuffer) => void; place?: 'device' | 'host' } = {},
  ) {
    this.#driver = driver;
    this.#lifetime = new Lifetime(`buffer ${label}`);
    this.#ended = ended;
    this.place = place;
    // A driver returns no address for an empty allocation.
    const bytes = Math.max(1, byteLength);
    this.#address = place === 'host' ? driver.allocatePinned(bytes, label) : driver.allocate(bytes, label);
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
    if (this.place === 'host') this.#driver.freePinned(this.#address);
    else this.#driver.free(this.#address);
  }
}

/** The address of a range of a HIP or CUDA buffer. Throws `DISPOSED` after the buffer's disposal. */
export function addressOf({ buffer, offset }: BufferRange): Address {
  invariant(buffer instanceof HipCudaBuffer, 'a HIP or CUDA device works on its own buffers');
  return buffer.address + offset;
}
