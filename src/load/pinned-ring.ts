import type { Device, PinnedBuffer } from '../device/index.ts';

/**
 * A small set of pinned slots that a file passes through. A slot is taken, filled, copied from, and given back when the
 * device has read it; whoever finds none free waits in line.
 */
export class PinnedRing implements Disposable {
  readonly #all: PinnedBuffer[] = [];
  readonly #free: PinnedBuffer[] = [];
  readonly #waiting: ((slot: PinnedBuffer) => void)[] = [];

  constructor(device: Device, slots: number, slotBytes: number) {
    try {
      for (let i = 0; i < slots; i++)
        this.#all.push(device.createPinned(slotBytes, `ring slot ${i}`, 'weights'));
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
    this.#free.push(...this.#all);
  }

  /** A free slot, in the order of asking. */
  take(): Promise<PinnedBuffer> {
    const slot = this.#free.pop();
    return slot ? Promise.resolve(slot) : new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Gives a slot back; its content may be overwritten from now on. */
  give(slot: PinnedBuffer): void {
    const next = this.#waiting.shift();
    if (next) next(slot);
    else this.#free.push(slot);
  }

  [Symbol.dispose](): void {
    for (const slot of this.#all.splice(0)) slot[Symbol.dispose]();
  }
}
