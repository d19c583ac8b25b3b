import type { GPUBuffer, GPUDevice } from '../../../base/web-types.ts';
import { Lifetime } from '../../../base/disposal.ts';
import { fail } from '../../../base/errors.ts';
import type { PinnedBuffer } from '../../../device/index.ts';
import { BUFFER_USAGE, MAP_MODE } from '../gpu-usage.ts';

/** Stride of the kernels' words at the start of a staging buffer: a binding's alignment. */
const JOB_STRIDE = 256;

/** Maximum kernels with words per hand-over. */
export const MAX_JOBS = 4;

/** Offset of the data in the staging buffer. */
export const HEADER_BYTES = MAX_JOBS * JOB_STRIDE;

/** Offset of a kernel's words in the staging buffer. */
export function jobOffset(index: number): number {
  return index * JOB_STRIDE;
}

/**
 * A staging buffer that the host writes while it is mapped and the device copies from while it is not. `bytes` is a new
 * view after each hand-over.
 */
export class MappedPinned implements PinnedBuffer {
  readonly #gpu: GPUBuffer;
  readonly #label: string;
  readonly #lifetime: Lifetime;
  readonly #ended: (pinned: MappedPinned) => void;
  #mapped: ArrayBuffer | undefined;
  #bytes: Uint8Array | undefined;

  constructor(
    readonly byteLength: number,
    label: string,
    of: { device: GPUDevice; ended: (pinned: MappedPinned) => void },
  ) {
    this.#label = label;
    this.#lifetime = new Lifetime(`pinned buffer ${label}`);
    this.#ended = of.ended;
    const size = HEADER_BYTES + Math.ceil(Math.max(1, byteLength) / 4) * 4;
    const usage = BUFFER_USAGE.mapWrite | BUFFER_USAGE.copySource;
    this.#gpu = createMapped(of.device, { size, usage, label, mappedAtCreation: true });
    this.#map();
  }

  /** True for a view of this memory in its current mapping. */
  holds({ buffer }: Uint8Array): boolean {
    return buffer === this.#mapped;
  }

  /** Throws `DISPOSED` after disposal, `BINDING` while the device copies from it. */
  get bytes(): Uint8Array {
    this.#lifetime.check();
    if (this.#bytes) return this.#bytes;
    const found = 'memory that the device still copies from';
    return fail('BINDING', { graph: this.#label, value: 'bytes', found, expected: 'a completed event' });
  }

  /**
   * Hands the contents, preceded by the words of the kernels that read them, to `copy`, which submits copies from the
   * buffer passed to it. Resolves when the device is done with these and the memory is mapped again; rejects if the
   * device is lost.
   */
  handOver(jobs: readonly Uint32Array[], copy: (source: GPUBuffer) => void): Promise<void> {
    void this.bytes;
    const mapped = this.#mapped as ArrayBuffer;
    for (const [i, job] of jobs.entries()) new Uint32Array(mapped, jobOffset(i), job.length).set(job);
    this.#bytes = undefined;
    this.#mapped = undefined;
    this.#gpu.unmap();
    copy(this.#gpu);
    return this.#gpu.mapAsync(MAP_MODE.write).then(() => {
      if (!this.#lifetime.disposed) this.#map();
    });
  }

  [Symbol.dispose](): void {
    if (!this.#lifetime.end()) return;
    this.#ended(this);
    this.#gpu.destroy();
  }

  #map(): void {
    this.#mapped = this.#gpu.getMappedRange();
    this.#bytes = new Uint8Array(this.#mapped, HEADER_BYTES, this.byteLength);
  }
}

/**
 * A buffer that cannot be mapped for lack of memory throws a RangeError immediately. One beyond the GPU's limit would
 * be mapped anyway, and refused when it is used.
 */
function createMapped(device: GPUDevice, of: GPUBufferDescriptor): GPUBuffer {
  const { maxBufferSize } = device.limits;
  const refuse = (free: number, cause?: unknown) =>
    fail('OUT_OF_MEMORY', { device: 'webgpu', what: of.label ?? 'staging', bytes: of.size, free }, cause);
  if (of.size > maxBufferSize) refuse(maxBufferSize);
  try {
    return device.createBuffer(of);
  } catch (cause) {
    return refuse(0, cause);
  }
}
