import { Lifetime } from '../../../base/disposal.ts';
import { fail, isRocmforgeError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Address, Ffi, PinnedBuffer } from '../../../device/index.ts';
import type { Driver } from '../driver/driver.ts';
import type { PageAccess } from '../driver/driver-calls.ts';
import type { DriverLibrary } from '../driver/driver-library.ts';

/** A view over native memory cannot be larger. */
const MAX_BYTES = 2 ** 32 - 1;

/** Host memory that is registered with the driver. */
export class HipCudaPinned implements PinnedBuffer {
  /** False if pinning failed and copies use the driver's own staging. */
  readonly pinned: boolean;
  /** Whether kernels read and write it at its address: not what was pinned for its owner, or could not be. @internal */
  readonly isMapped: boolean;
  /** All devices of this driver copy from it. @internal */
  readonly library: DriverLibrary;
  readonly #bytes: Uint8Array;
  readonly #address: Address;
  readonly #lifetime: Lifetime;
  readonly #release: () => void;

  constructor(
    readonly byteLength: number,
    label: string,
    of: {
      library: DriverLibrary;
      address: Address;
      bytes: Uint8Array;
      pinned: boolean;
      isMapped: boolean;
      release: () => void;
    },
  ) {
    this.library = of.library;
    this.pinned = of.pinned;
    this.isMapped = of.isMapped;
    this.#address = of.address;
    this.#bytes = of.bytes;
    this.#release = of.release;
    this.#lifetime = new Lifetime(`pinned buffer ${label}`);
  }

  /** Throws `DISPOSED` after disposal; views taken before must not be used then. */
  get bytes(): Uint8Array {
    this.#lifetime.check();
    return this.#bytes;
  }

  /** The buffer under the view, also after disposal. */
  get buffer(): ArrayBufferLike {
    return this.#bytes.buffer;
  }

  /** The address of `bytes`, a part of this memory. */
  addressOf(bytes: Uint8Array): Address {
    this.#lifetime.check();
    return this.#address + bytes.byteOffset - this.#bytes.byteOffset;
  }

  /** True for a view within this memory. */
  holds(bytes: Uint8Array): boolean {
    const start = bytes.byteOffset - this.#bytes.byteOffset;
    return start >= 0 && start + bytes.byteLength <= this.byteLength;
  }

  /** The driver waits for queued work, then frees the memory. */
  [Symbol.dispose](): void {
    if (this.#lifetime.end()) this.#release();
  }
}

/** Options of pinned memory. */
export interface PinnedSetup {
  readonly driver: Driver;
  readonly ffi: Ffi;
  readonly logger: Logger;
  /** Called when the buffer is disposed. */
  readonly ended?: () => void;
}

/**
 * Allocates pinned memory or, if the system pins no more, pageable memory, with a warning, because copies from there
 * are slower and may wait. Throws `OUT_OF_MEMORY` if there is neither, `INVALID_ARGUMENT` for 4 GiB or more.
 */
export function allocatePinned(
  { driver, ffi, logger, ended = () => {} }: PinnedSetup,
  byteLength: number,
  label: string,
): HipCudaPinned {
  if (byteLength > MAX_BYTES) {
    fail('INVALID_ARGUMENT', { name: label, found: `${byteLength} bytes`, expected: 'less than 4 GiB' });
  }
  const bytesWanted = Math.max(1, byteLength);
  const wrap = (memory: { address: Address; bytes: Uint8Array }, pinned: boolean, free: () => void) =>
    new HipCudaPinned(byteLength, label, {
      library: driver.library,
      address: memory.address,
      bytes: memory.bytes.subarray(0, byteLength),
      pinned,
      isMapped: pinned,
      release: () => {
        ended();
        free();
      },
    });
  try {
    const address = driver.allocatePinned(bytesWanted, label);
    return wrap({ address, bytes: ffi.view(address, bytesWanted) }, true, () => driver.freePinned(address));
  } catch (error) {
    if (!isRocmforgeError(error, 'OUT_OF_MEMORY') && !isRocmforgeError(error, 'DRIVER_CALL')) throw error;
    logger.warn('memory could not be pinned: copies from and to it are slower', {
      device: driver.device,
      what: label,
      bytes: byteLength,
      reason: error.message,
    });
    const memory = ffi.allocate(bytesWanted);
    return wrap(memory, false, () => memory[Symbol.dispose]());
  }
}

/**
 * Pins memory that the caller owns, such as a WebAssembly memory or a mapped file. Throws `DRIVER_CALL` if that fails.
 */
export function pinForeign(
  { driver, ffi, ended = () => {} }: PinnedSetup,
  bytes: Uint8Array,
  { label, access }: { readonly label: string; readonly access: PageAccess },
): HipCudaPinned {
  const address = ffi.addressOf(bytes);
  driver.pin(address, bytes.byteLength, access);
  return new HipCudaPinned(bytes.byteLength, label, {
    library: driver.library,
    address,
    bytes,
    pinned: true,
    isMapped: false,
    release: () => {
      ended();
      driver.unpin(address);
    },
  });
}
