import { alignUp } from '../../base/bytes.ts';
import { invariant } from '../../base/errors.ts';
import {
  BUFFER_ALIGNMENT,
  type BufferRange,
  type Device,
  type DeviceBuffer,
  wholeOf,
} from '../../device/index.ts';

/** The memory of a plan by name; disposed together, and on failure as far as it was created. */
export class PlanBuffers implements Disposable {
  readonly #buffers = new Map<string, DeviceBuffer>();
  readonly #ranges = new Map<string, BufferRange>();

  constructor(readonly device: Device) {}

  /** Creates a buffer of this name, at the first call. */
  create(name: string, byteLength: number): DeviceBuffer {
    const known = this.#ranges.get(name);
    if (known) return known.buffer;
    const buffer = this.device.createBuffer(alignUp(byteLength, BUFFER_ALIGNMENT), name);
    this.#buffers.set(name, buffer);
    this.#ranges.set(name, wholeOf(buffer));
    return buffer;
  }

  /** Gives a part of a buffer a name of its own. */
  place(name: string, range: BufferRange): void {
    invariant(!this.#ranges.has(name), `${name} has no memory yet`);
    this.#ranges.set(name, range);
  }

  /** The memory of a name, if it has any. */
  find(name: string): BufferRange | undefined {
    return this.#ranges.get(name);
  }

  /** The memory of a name that was created or placed before. */
  get(name: string): BufferRange {
    const range = this.#ranges.get(name);
    invariant(range, `${name} has memory`);
    return range;
  }

  /** Forgets a name, and disposes the buffer that was created by it. */
  remove(name: string): void {
    this.#ranges.delete(name);
    this.#buffers.get(name)?.[Symbol.dispose]();
    this.#buffers.delete(name);
  }

  [Symbol.dispose](): void {
    for (const buffer of this.#buffers.values()) buffer[Symbol.dispose]();
    this.#buffers.clear();
    this.#ranges.clear();
  }
}
