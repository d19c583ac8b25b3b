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
  /** The places of names that share a buffer. */
  readonly #shared = new Map<string, BufferRange>();

  constructor(readonly device: Device) {}

  /** Creates a buffer of this name on the first call; `stages` are those of a pipeline that have it. */
  create(name: string, byteLength: number, stages?: readonly number[]): DeviceBuffer {
    const known = this.#shared.get(name)?.buffer ?? this.#buffers.get(name);
    if (known) return known;
    const buffer = this.device.createBuffer(alignUp(byteLength, BUFFER_ALIGNMENT), name, stages);
    this.#buffers.set(name, buffer);
    return buffer;
  }

  /** Creates a buffer of the host's memory of this name, which the device's kernels read. */
  createOnHost(name: string, byteLength: number): DeviceBuffer {
    invariant(this.device.createHostBuffer, `${name} is planned for memory that the device reads`);
    const buffer = this.device.createHostBuffer(alignUp(byteLength, BUFFER_ALIGNMENT), name);
    this.#buffers.set(name, buffer);
    return buffer;
  }

  /** Creates a buffer of this name for values of several others, one behind another. */
  createShared(name: string, sizes: ReadonlyMap<string, number>): BufferRange {
    let end = 0;
    const offsets = new Map<string, number>();
    for (const [part, bytes] of sizes) {
      offsets.set(part, end);
      end += alignUp(bytes, BUFFER_ALIGNMENT);
    }
    const buffer = this.create(name, end);
    for (const [part, offset] of offsets) {
      this.#shared.set(part, { buffer, offset, byteLength: sizes.get(part) as number });
    }
    return wholeOf(buffer);
  }

  /** The memory of a name that was created before. */
  get(name: string): BufferRange {
    const shared = this.#shared.get(name);
    if (shared) return shared;
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
    this.#shared.clear();
  }
}
