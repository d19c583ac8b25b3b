import { Lifetime } from '../../../base/disposal.ts';
import { fail } from '../../../base/errors.ts';
import type { PinnedBuffer } from '../../../device/index.ts';
import { BUFFER_USAGE, MAP_MODE } from '../gpu-usage.ts';

/** In front of what a staging buffer holds: words for the kernels that read it, a binding's alignment apart. */
const JOB_STRIDE = 256;

/** Kernels that one hand-over may have words for. */
export const MAX_JOBS = 4;

/** Where the bytes begin in the staging buffer. */
export const HEADER_BYTES = MAX_JOBS * JOB_STRIDE;

/** Where the words of a kernel begin in the staging buffer. */
export function jobOffset(index: number): number {
  return index * JOB_STRIDE;
}

/**
 * A staging buffer that the host writes while it is mapped and the device copies from while it is not. `bytes` is another
 * view after each hand-over, to be asked for again.
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

  /** True for a view of this memory as it is mapped now. */
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
   * Hands the contents, after the words of the kernels that read them, to `copy`, which submits copies out of the buffer
   * given to it. Resolves when the device is done with what `copy` submitted and the memory is the host's again; rejects when
   * the device is lost.
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
 * A buffer that cannot be mapped for want of memory is a RangeError at once. One beyond the GPU's limit would be mapped all the
 * same, and refused when it is used.
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
