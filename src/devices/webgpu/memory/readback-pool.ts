import type { Allocation, GpuFaults } from '../gpu-faults.ts';
import { BUFFER_USAGE, MAP_MODE } from '../gpu-usage.ts';

const MIN_BYTES = 256;
/** Maximum bytes of large idle buffers; small ones are all kept. */
const MAX_KEPT_BYTES = 1 << 20;

/** Buffers into which results are copied and mapped, reused. */
export class ReadbackPool {
  readonly #faults: GpuFaults;
  readonly #idle = new Map<number, Allocation[]>();

  constructor(faults: GpuFaults) {
    this.#faults = faults;
  }

  /** A buffer of at least this size, owned by the caller until `read`. */
  take(byteLength: number): Allocation {
    const size = Math.max(MIN_BYTES, 2 ** Math.ceil(Math.log2(byteLength)));
    const known = this.#idle.get(size)?.pop();
    if (known) return known;
    const usage = BUFFER_USAGE.mapRead | BUFFER_USAGE.copyTarget;
    return this.#faults.allocate({ size, usage, label: 'readback' });
  }

  /**
   * Waits for the copy into the buffer, reads its start and returns the buffer to the pool. Rejects with
   * `OUT_OF_MEMORY`.
   */
  async read(readback: Allocation, into: Uint8Array): Promise<void> {
    const { buffer } = readback;
    const byteLength = Math.ceil(into.byteLength / 4) * 4;
    try {
      await buffer.mapAsync(MAP_MODE.read, 0, byteLength);
    } catch (error) {
      buffer.destroy();
      await readback.pending;
      throw readback.error ?? error;
    }
    into.set(new Uint8Array(buffer.getMappedRange(0, byteLength), 0, into.byteLength));
    buffer.unmap();
    this.#give(readback);
  }

  dispose(): void {
    for (const { buffer } of [...this.#idle.values()].flat()) buffer.destroy();
    this.#idle.clear();
  }

  #give(readback: Allocation): void {
    const { buffer } = readback;
    if (buffer.size > MAX_KEPT_BYTES) {
      buffer.destroy();
      return;
    }
    const idle = this.#idle.get(buffer.size);
    if (idle) idle.push(readback);
    else this.#idle.set(buffer.size, [readback]);
  }
}
