import { Lifetime } from '../../base/disposal.ts';
import type { BufferRange, DeviceBuffer, PinnedBuffer } from '../memory.ts';

/** Memory of a host device, which is notified of its disposal. */
export class HostBuffer implements DeviceBuffer, PinnedBuffer {
  readonly #bytes: Uint8Array;
  readonly #lifetime: Lifetime;
  readonly #ended: (buffer: HostBuffer) => void;

  /** `bytes` is shorter than `byteLength` on a device that stores no contents. */
  constructor(
    readonly byteLength: number,
    readonly label: string,
    of: { bytes: Uint8Array; ended: (buffer: HostBuffer) => void },
  ) {
    this.#bytes = of.bytes;
    this.#ended = of.ended;
    this.#lifetime = new Lifetime(`buffer ${label}`);
  }

  /** Throws `DISPOSED` after disposal. */
  get bytes(): Uint8Array {
    this.#lifetime.check();
    return this.#bytes;
  }

  [Symbol.dispose](): void {
    if (this.#lifetime.end()) this.#ended(this);
  }
}

/** A view of the bytes of a host device's range; throws `DISPOSED` after the buffer's disposal. */
export function bytesOf({ buffer, offset, byteLength }: BufferRange): Uint8Array {
  return (buffer as HostBuffer).bytes.subarray(offset, offset + byteLength);
}
