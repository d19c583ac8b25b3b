import type { GPUDevice } from '../../../base/web-types.ts';
import { Lifetime } from '../../../base/disposal.ts';
import type { Step } from '../../../device/index.ts';
import { type DispatchTime, timeDispatches } from './dispatch-times.ts';
import type { IndexCopies } from './index-copies.ts';
import type { Dispatch } from './launch.ts';

/** A list of dispatches that runs as one command buffer with one pass. While one run executes, the next is encoded. */
export class WebGpuStep implements Step {
  readonly #device: GPUDevice;
  readonly #dispatches: readonly Dispatch[];
  readonly #indices: IndexCopies;
  readonly #lifetime: Lifetime;
  readonly #ended: (step: WebGpuStep) => void;
  #encoded: GPUCommandBuffer | undefined;

  constructor(
    readonly label: string,
    dispatches: readonly Dispatch[],
    of: { device: GPUDevice; indices: IndexCopies; ended: (step: WebGpuStep) => void },
  ) {
    this.#dispatches = dispatches;
    this.#device = of.device;
    this.#indices = of.indices;
    this.#ended = of.ended;
    this.#lifetime = new Lifetime(`step ${label}`);
  }

  /** Throws `DISPOSED` after disposal. */
  check(): void {
    this.#lifetime.check();
  }

  /** Queues the step. Work that follows in the same turn is queued before the next run is encoded. */
  submit(): void {
    this.#lifetime.check();
    const commands = this.#encoded ?? this.#encode();
    this.#encoded = undefined;
    this.#device.queue.submit([commands]);
    queueMicrotask(this.#encodeAhead);
  }

  /** Runs the step with each dispatch timed separately. Requires timestamps. */
  time(): Promise<DispatchTime[]> {
    this.#lifetime.check();
    return timeDispatches(this.#device, this.#dispatches, (encoder) => this.#indices.encode(encoder));
  }

  [Symbol.dispose](): void {
    if (!this.#lifetime.end()) return;
    this.#encoded = undefined;
    this.#indices.dispose();
    this.#ended(this);
  }

  readonly #encodeAhead = (): void => {
    if (!this.#lifetime.disposed) this.#encoded ??= this.#encode();
  };

  #encode(): GPUCommandBuffer {
    const encoder = this.#device.createCommandEncoder({ label: this.label });
    this.#indices.encode(encoder);
    const pass = encoder.beginComputePass();
    for (const { pipeline, bindGroup, grid } of this.#dispatches) {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, bindGroup);
      pass.dispatchWorkgroups(grid[0], grid[1], grid[2]);
    }
    pass.end();
    return encoder.finish();
  }
}
