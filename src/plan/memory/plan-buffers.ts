import { alignUp } from '../../base/bytes.ts';
import { invariant } from '../../base/errors.ts';
import {
  BUFFER_ALIGNMENT,
  type BufferRange,
  type Device,
  type DeviceBuffer,
  wholeOf,
} from '../../device/index.ts';

/** The buffers of a plan by name, disposed together, also after a partial failure. */
export class PlanBuffers implements Disposable {
  readonly #buffers = new Map<string, DeviceBuffer>();

  constructor(readonly device: Device) {}

  /** Creates a buffer of this name on the first call. */
  create(name: string, byteLength: number): DeviceBuffer {
    const known = this.#buffers.get(name);
    if (known) return known;
    const buffer = this.device.createBuffer(alignUp(byteLength, BUFFER_ALIGNMENT), name);
    this.#buffers.set(name, buffer);
    return buffer;
  }

  /** The buffer of a name that was created before. */
  get(name: string): BufferRange {
    const buffer = this.#buffers.get(name);
    invariant(buffer, `${name} has memory`);
    return wholeOf(buffer);
  }

  /** Disposes the buffer of a name, if there is one. */
  remove(name: string): void {
    this.#buffers.get(name)?.[Symbol.dispose]();
    this.#buffers.delete(name);
  }

  [Symbol.dispose](): void {
    for (const buffer of this.#buffers.values()) buffer[Symbol.dispose]();
    this.#buffers.clear();
  }
}
