import { invariant, isRocmforgeError } from '../base/errors.ts';
import type { Device, PinnedBuffer } from '../device/index.ts';
import { WaitingLine } from '../base/waiting-line.ts';

const WASM_PAGE_BYTES = 64 * 1024;

/** A place of the ring. What is in it is the holder's until the slot is given back. */
export class RingSlot {
  readonly #pin: (byteLength: number) => PinnedBuffer;
  #pinned: PinnedBuffer | undefined;
  #host: Uint8Array | undefined;

  constructor(pin: (byteLength: number) => PinnedBuffer) {
    this.#pin = pin;
  }

  /** Pinned memory of at least so many bytes; the same every time unless it was too small. Throws as `createPinned`. */
  pinned(byteLength: number): PinnedBuffer {
    if (this.#pinned && this.#pinned.byteLength >= byteLength) return this.#pinned;
    this.unpin();
    this.#pinned = this.#pin(byteLength);
    return this.#pinned;
  }

  /** Shared memory, aligned to pages, of at least so many bytes: for what is worked on before it becomes pinned memory. */
  host(byteLength: number): Uint8Array {
    if (!this.#host || this.#host.byteLength < byteLength) {
      this.#host = sharedPages(byteLength);
    }
    return this.#host.subarray(0, byteLength);
  }

  unpin(): void {
    this.#pinned?.[Symbol.dispose]();
    this.#pinned = undefined;
    this.#host = undefined;
  }
}

/**
 * A small set of pinned slots that files pass through. A slot is taken, filled, copied from, and given back when the device
 * has read it; whoever finds none free waits in line. Slots are pinned at their first use and kept: pinning costs more than
 * filling them.
 */
export class PinnedRing implements Disposable {
  readonly #slots: readonly RingSlot[];
  readonly #free: WaitingLine<RingSlot>;

  /** `onPin` is called around each pinning. */
  constructor(device: Device, of: { slots: number; slotBytes: number; onPin(pin: () => void): void }) {
    const create = (byteLength: number): PinnedBuffer => {
      let pinned: PinnedBuffer | undefined;
      of.onPin(() => {
        pinned = createSlot(device, Math.max(of.slotBytes, byteLength));
      });
      invariant(pinned, 'memory was pinned or an error thrown');
      return pinned;
    };
    this.#slots = Array.from({ length: of.slots }, () => new RingSlot(create));
    this.#free = new WaitingLine(this.#slots);
  }

  /** A free slot, in the order of asking. */
  take(): Promise<RingSlot> {
    return this.#free.take();
  }

  /** Gives a slot back; its content may be overwritten from now on. */
  give(slot: RingSlot): void {
    this.#free.give(slot);
  }

  /** Unpins everything; no slot is used then. */
  [Symbol.dispose](): void {
    for (const slot of this.#slots) slot.unpin();
  }
}

/** Shared memory where the device pins it: decoding threads then write where the device copies from. */
function createSlot(device: Device, byteLength: number): PinnedBuffer {
  if (device.pin) {
    try {
      return device.pin(sharedPages(byteLength), 'ring slot');
    } catch (error) {
      // The system may pin no more, or not this; the device's own memory is the next best.
      if (!isRocmforgeError(error, 'DRIVER_CALL')) throw error;
    }
  }
  return device.createPinned(byteLength, 'ring slot', 'weights');
}

/** Whole pages that threads share: only WebAssembly's memory is both. */
function sharedPages(byteLength: number): Uint8Array {
  const pages = Math.ceil(byteLength / WASM_PAGE_BYTES);
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
  return new Uint8Array(memory.buffer);
}
