import { invariant } from '../base/errors.ts';
import type { Device } from './device.ts';
import type { PinnedBuffer } from './memory.ts';
import type { Stream } from './stream.ts';

/** Pinned memory of a device through which rows of weights pass that the host copies there, piece by piece. */
export class RowStaging implements Disposable {
  readonly #device: Device;
  #pinned: PinnedBuffer | undefined;
  /** Resolves when it may be filled again. */
  #free: Promise<void> = Promise.resolve();

  constructor(device: Device) {
    this.#device = device;
  }

  /** Fills it with so many bytes, once what was in it before is on the device, and packs them. */
  async pack(
    stream: Stream,
    byteLength: number,
    of: { fill(into: Uint8Array): void; pack(pinned: PinnedBuffer): void },
  ): Promise<void> {
    await this.#free;
    if ((this.#pinned?.byteLength ?? 0) < byteLength) {
      this[Symbol.dispose]();
      this.#pinned = this.#device.createPinned(byteLength, 'rows', 'weights');
    }
    const pinned = this.#pinned;
    invariant(pinned, 'there is memory for the rows');
    of.fill(pinned.bytes);
    of.pack(pinned);
    this.#free = stream.record().completed();
    // Whoever waits for the stream gets its error, too.
    this.#free.catch(() => {});
  }

  [Symbol.dispose](): void {
    this.#pinned?.[Symbol.dispose]();
    this.#pinned = undefined;
  }
}
