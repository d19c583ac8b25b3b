import { Lifetime } from '../../../base/disposal.ts';
import { fail } from '../../../base/errors.ts';
import type { PinnedBuffer } from '../../../device/index.ts';
import { BUFFER_USAGE, MAP_MODE } from '../gpu-usage.ts';

/**
 * A staging buffer that the host writes while it is mapped and the device copies from while it is not. `bytes` is another
 * view after each hand-over, to be asked for anew.
 */
export class MappedPinned implements PinnedBuffer {
  readonly #gpu: GPUBuffer;
  readonly #label: string;
  readonly #lifetime: Lifetime;
  readonly #ended: (pinned: MappedPinned) => void;
  #bytes: Uint8Array | undefined;

  constructor(
    readonly byteLength: number,
    label: string,
    of: { device: GPUDevice; ended: (pinned: MappedPinned) => void },
  ) {
    this.#label = label;
    this.#lifetime = new Lifetime(`pinned buffer ${label}`);
    this.#ended = of.ended;
    const size = Math.ceil(Math.max(1, byteLength) / 4) * 4;
    const usage = BUFFER_USAGE.mapWrite | BUFFER_USAGE.copySource;
    this.#gpu = createMapped(of.device, { size, usage, label, mappedAtCreation: true });
    this.#bytes = new Uint8Array(this.#gpu.getMappedRange()).subarray(0, byteLength);
  }

  /** Throws `DISPOSED` after disposal, `BINDING` while the device copies from it. */
  get bytes(): Uint8Array {
    this.#lifetime.check();
    if (this.#bytes) return this.#bytes;
    const found = 'memory that the device still copies from';
    return fail('BINDING', { graph: this.#label, value: 'bytes', found, expected: 'a completed event' });
  }

  /**
   * Hands the contents to `copy`, which queues copies out of the buffer given to it. Resolves when the memory is the host's
   * again; rejects when the device is lost.
   */
  handOver(copy: (source: GPUBuffer) => void): Promise<void> {
    this.#lifetime.check();
    this.#bytes = undefined;
    this.#gpu.unmap();
    copy(this.#gpu);
    return this.#gpu.mapAsync(MAP_MODE.write).then(() => {
      if (this.#lifetime.disposed) return;
      this.#bytes = new Uint8Array(this.#gpu.getMappedRange()).subarray(0, this.byteLength);
    });
  }

  [Symbol.dispose](): void {
    if (!this.#lifetime.end()) return;
    this.#ended(this);
    this.#gpu.destroy();
  }
}

/** A buffer that cannot be mapped for want of memory is a RangeError at once. */
function createMapped(device: GPUDevice, of: GPUBufferDescriptor): GPUBuffer {
  try {
    return device.createBuffer(of);
  } catch (cause) {
    const params = { device: 'webgpu', what: of.label ?? 'staging', bytes: of.size, free: 0 };
    return fail('OUT_OF_MEMORY', params, cause);
  }
}
