import { BUFFER_USAGE, MAP_MODE } from '../gpu-usage.ts';

const SMALLEST_BYTES = 256;
/** What is kept of large readbacks; small ones are kept all. */
const LARGEST_KEPT_BYTES = 1 << 20;

/** Buffers that results are copied to and mapped in, used again and again. */
export class ReadbackPool {
  readonly #device: GPUDevice;
  readonly #idle = new Map<number, GPUBuffer[]>();

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** A buffer of at least this size, the caller's until `read` or `give`. */
  take(byteLength: number): GPUBuffer {
    const size = Math.max(SMALLEST_BYTES, 2 ** Math.ceil(Math.log2(byteLength)));
    const known = this.#idle.get(size)?.pop();
    if (known) return known;
    return this.#device.createBuffer({ size, usage: BUFFER_USAGE.mapRead | BUFFER_USAGE.copyTarget });
  }

  /** Waits for the copy into the buffer, brings its start to the host and takes the buffer back. */
  async read(buffer: GPUBuffer, into: Uint8Array): Promise<void> {
    try {
      await buffer.mapAsync(MAP_MODE.read, 0, Math.ceil(into.byteLength / 4) * 4);
    } catch (error) {
      buffer.destroy();
      throw error;
    }
    into.set(
      new Uint8Array(buffer.getMappedRange(0, Math.ceil(into.byteLength / 4) * 4), 0, into.byteLength),
    );
    buffer.unmap();
    this.#give(buffer);
  }

  dispose(): void {
    for (const buffer of [...this.#idle.values()].flat()) buffer.destroy();
    this.#idle.clear();
  }

  #give(buffer: GPUBuffer): void {
    if (buffer.size > LARGEST_KEPT_BYTES) {
      buffer.destroy();
      return;
    }
    const idle = this.#idle.get(buffer.size);
    if (idle) idle.push(buffer);
    else this.#idle.set(buffer.size, [buffer]);
  }
}
