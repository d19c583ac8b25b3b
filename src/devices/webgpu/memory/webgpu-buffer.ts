import type { GPUBuffer } from '../../../base/web-types.ts';
import { alignUp } from '../../../base/bytes.ts';
import { Lifetime } from '../../../base/disposal.ts';
import { invariant } from '../../../base/errors.ts';
import { BUFFER_ALIGNMENT, type BufferRange, type DeviceBuffer } from '../../../device/index.ts';
import type { Allocation, GpuFaults } from '../gpu-faults.ts';
import { BUFFER_USAGE } from '../gpu-usage.ts';

const USAGE = BUFFER_USAGE.storage | BUFFER_USAGE.uniform | BUFFER_USAGE.copySource | BUFFER_USAGE.copyTarget;

/** One allocation on the device, rounded up to the ranges' alignment, because index tensors are bound up to there. */
export class WebGpuBuffer implements DeviceBuffer {
  readonly #allocation: Allocation;
  readonly #lifetime: Lifetime;
  readonly #ended: (buffer: WebGpuBuffer) => void;

  constructor(
    readonly byteLength: number,
    readonly label: string,
    of: { faults: GpuFaults; ended: (buffer: WebGpuBuffer) => void },
  ) {
    this.#lifetime = new Lifetime(`buffer ${label}`);
    this.#ended = of.ended;
    const size = alignUp(Math.max(1, byteLength), BUFFER_ALIGNMENT);
    this.#allocation = of.faults.allocate({ size, usage: USAGE, label });
  }

  /** Rejects with `OUT_OF_MEMORY` if the allocation failed; undefined once the outcome is known. */
  get pending(): Promise<void> | undefined {
    return this.#allocation.pending;
  }

  /** Throws `DISPOSED` after disposal, `OUT_OF_MEMORY` if the allocation failed. */
  get gpu(): GPUBuffer {
    this.#lifetime.check();
    if (this.#allocation.error) throw this.#allocation.error;
    return this.#allocation.buffer;
  }

  /** Queued work keeps the memory until it is done. */
  [Symbol.dispose](): void {
    if (!this.#lifetime.end()) return;
    this.#ended(this);
    this.#allocation.buffer.destroy();
  }
}

/** The buffer that contains a range. */
export function gpuBufferOf({ buffer }: BufferRange): GPUBuffer {
  invariant(buffer instanceof WebGpuBuffer, 'a WebGPU device works on its own buffers');
  return buffer.gpu;
}
