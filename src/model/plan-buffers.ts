import { alignUp } from '../base/bytes.ts';
import { invariant } from '../base/errors.ts';
import {
  BUFFER_ALIGNMENT,
  type BufferRange,
  type Device,
  type DeviceBuffer,
  wholeOf,
} from '../device/index.ts';

/** The memory of a plan by name; disposed together, and on failure as far as it was created. */
export class PlanBuffers implements Disposable {
  readonly #buffers: DeviceBuffer[] = [];
  readonly #ranges = new Map<string, BufferRange>();

  constructor(readonly device: Device) {}

  /** Creates a buffer of this name, at the first call. */
  create(name: string, byteLength: number): DeviceBuffer {
    const known = this.#ranges.get(name);
    if (known) return known.buffer;
    const buffer = this.device.createBuffer(alignUp(byteLength, BUFFER_ALIGNMENT), name);
    this.#buffers.push(buffer);
    this.#ranges.set(name, wholeOf(buffer));
    return buffer;
  }

  /** Gives a part of a buffer a name of its own. */
  place(name: string, range: BufferRange): void {
    invariant(!this.#ranges.has(name), `${name} has no memory yet`);
    this.#ranges.set(name, range);
  }

  /** The memory of a name that was created or placed before. */
  get(name: string): BufferRange {
    const range = this.#ranges.get(name);
    invariant(range, `${name} has memory`);
    return range;
  }

  [Symbol.dispose](): void {
    for (const buffer of this.#buffers.splice(0)) buffer[Symbol.dispose]();
    this.#ranges.clear();
  }
}
