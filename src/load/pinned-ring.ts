import { isRocmforgeError } from '../base/errors.ts';
import type { Device, PinnedBuffer, SharedBlock } from '../device/index.ts';

/** Alignment of slots in one memory: all page sizes divide it. */
const PAGE_BYTES = 64 * 1024;

/** A larger ring does not fit into one WebAssembly memory, which ends at 4 GiB. */
const MAX_SHARED_BYTES = 2 ** 31;

/** Options of a ring. */
export interface RingOptions {
  readonly slots: number;
  /** Bytes of a slot; it grows if a chunk needs more. */
  readonly slotBytes: number;
  /** Allocates memory shared with decoding threads. Default: shared memory of this thread. */
  readonly share?: ((byteLength: number) => SharedBlock) | undefined;
  /** Called around each pinning. */
  onPin<T>(pin: () => T): T;
}

/** A slot of the ring. Its contents belong to its holder until it is released. */
export class RingSlot {
  readonly #ring: PinnedRing;
  readonly #index: number;
  #pinned: PinnedBuffer | undefined;
  #own: SharedBlock | undefined;

  constructor(ring: PinnedRing, index: number) {
    this.#ring = ring;
    this.#index = index;
  }

  /**
   * Memory of at least so many bytes for reads or decoders to fill; `pinned` then gives the same bytes pinned. Memory that
   * was written before is pinned five times as fast, because the threads that filled it have faulted its pages in. Throws as
   * `createPinned`.
   */
  fillable(byteLength: number): Uint8Array {
    // If the slot's half could not be pinned, the device's own memory is filled directly: `pinned` would return it
    // unfilled.
    if (this.#pinned) return this.pinned(byteLength).bytes;
    return this.#ring.pinnable(this.#index, byteLength) ?? this.pinned(byteLength).bytes;
  }

  /**
   * Pinned memory of at least so many bytes, with the contents of `fillable`; always the same unless it was too small.
   * Throws as `createPinned`.
   */
  pinned(byteLength: number): PinnedBuffer {
    if (this.#pinned && this.#pinned.byteLength >= byteLength) return this.#pinned;
    this.unpin();
    this.#pinned = this.#ring.pin(this.#index, byteLength);
    return this.#pinned;
  }

  /**
   * Shared memory of at least so many bytes, page-aligned, for rows that are then decoded into the slot's pinned
   * memory.
   */
  host(byteLength: number): Uint8Array {
    const known = this.#ring.host(this.#index, byteLength);
    if (known) return known;
    if ((this.#own?.bytes.byteLength ?? 0) < byteLength) this.#own = sharedBlock(byteLength);
    return (this.#own as SharedBlock).bytes.subarray(0, byteLength);
  }

  unpin(): void {
    this.#pinned?.[Symbol.dispose]();
    this.#pinned = undefined;
  }
}

/**
 * A small ring of pinned slots through which files are staged. A slot is taken, filled, copied from, and released when
 * the device has read it. The slots are in one allocation, each with a half that is pinned and one for rows waiting to
 * be decoded. A slot is pinned after it was first filled and stays pinned: pinning costs more than filling.
 */
export class PinnedRing implements Disposable {
  readonly #device: Device;
  readonly #options: RingOptions;
  /** Bytes of each half of a slot. */
  readonly #halfBytes: number;
  readonly #slots: readonly RingSlot[];
  readonly #free: RingSlot[];
  #memory: SharedBlock | undefined;

  constructor(device: Device, options: RingOptions) {
    this.#device = device;
    this.#options = options;
    this.#halfBytes = Math.ceil(options.slotBytes / PAGE_BYTES) * PAGE_BYTES;
    this.#slots = Array.from({ length: options.slots }, (_, index) => new RingSlot(this, index));
    this.#free = [...this.#slots];
  }

  /** A free slot, undefined if there is none. The one released last is reused last. */
  take(): RingSlot | undefined {
    return this.#free.shift();
  }

  /** Releases a slot; its contents may be overwritten from now on. */
  give(slot: RingSlot): void {
    this.#free.push(slot);
  }

  /**
   * A slot's own half, if the device can pin it: shared memory, so that decoding threads write where the device copies
   * from.
   */
  pinnable(index: number, byteLength: number): Uint8Array | undefined {
    return this.#device.pin && this.#part(2 * index, byteLength);
  }

  /** Pins a slot's own half, or returns the device's own memory with a copy of the contents. */
  pin(index: number, byteLength: number): PinnedBuffer {
    return this.#options.onPin(() => {
      const { slotBytes } = this.#options;
      const own = this.pinnable(index, byteLength);
      if (own && this.#device.pin) {
        try {
          return this.#device.pin(own, 'ring slot');
        } catch (error) {
          // The system may refuse to pin more, or this; the device's own memory is the next best.
          if (!isRocmforgeError(error, 'DRIVER_CALL')) throw error;
        }
      }
      const pinned = this.#device.createPinned(Math.max(slotBytes, byteLength), 'ring slot', 'weights');
      if (own) pinned.bytes.set(own.subarray(0, pinned.byteLength));
      return pinned;
    });
  }

  /** The half of a slot that is never pinned; undefined if it is too small. */
  host(index: number, byteLength: number): Uint8Array | undefined {
    return this.#part(2 * index + 1, byteLength)?.subarray(0, byteLength);
  }

  /** Unpins everything; no slot is in use any more. */
  [Symbol.dispose](): void {
    for (const slot of this.#slots) slot.unpin();
    this.#memory?.[Symbol.dispose]();
    this.#memory = undefined;
  }

  #part(half: number, byteLength: number): Uint8Array | undefined {
    const ringBytes = 2 * this.#slots.length * this.#halfBytes;
    if (byteLength > this.#halfBytes || ringBytes > MAX_SHARED_BYTES) return undefined;
    const { share = sharedBlock } = this.#options;
    this.#memory ??= share(ringBytes);
    return this.#memory.bytes.subarray(half * this.#halfBytes, (half + 1) * this.#halfBytes);
  }
}

const WASM_PAGE_BYTES = 64 * 1024;

/** Memory that can be shared by threads and pinned by drivers: in JavaScript, only WebAssembly memory is both. */
function sharedBlock(byteLength: number): SharedBlock {
  const pages = Math.ceil(byteLength / WASM_PAGE_BYTES);
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
  return { bytes: new Uint8Array(memory.buffer), [Symbol.dispose]: () => {} };
}
