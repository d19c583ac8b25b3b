import { alignUp } from '../base/bytes.ts';
import { invariant } from '../base/errors.ts';
import { BUFFER_ALIGNMENT, type Device, type DeviceBuffer } from '../device/index.ts';

/** The buffers of a plan by name; disposed together, and on failure as far as they were created. */
export class PlanBuffers implements Disposable {
  readonly #buffers = new Map<string, DeviceBuffer>();

  constructor(readonly device: Device) {}

  /** The buffer of this name, created at the first call. */
  create(name: string, byteLength: number): DeviceBuffer {
    const known = this.#buffers.get(name);
    if (known) return known;
    const buffer = this.device.createBuffer(alignUp(byteLength, BUFFER_ALIGNMENT), name);
    this.#buffers.set(name, buffer);
    return buffer;
  }

  /** A buffer that was created before. */
  get(name: string): DeviceBuffer {
    const buffer = this.#buffers.get(name);
    invariant(buffer, `buffer ${name} was created`);
    return buffer;
  }

  [Symbol.dispose](): void {
    for (const buffer of this.#buffers.values()) buffer[Symbol.dispose]();
    this.#buffers.clear();
  }
}
