import type { GPUBuffer, GPUBufferDescriptor, GPUDevice } from '../../base/web-types.ts';
import { RocmforgeError } from '../../base/errors.ts';

/** A buffer whose allocation may turn out later to have failed. */
export interface Allocation {
  readonly buffer: GPUBuffer;
  /** Resolves when the allocation is known to have succeeded, rejects if it failed; undefined once that is known. */
  readonly pending: Promise<void> | undefined;
  /** `OUT_OF_MEMORY`, once it is known. */
  readonly error: Error | undefined;
}

function nothing(): void {}

/**
 * Errors on a GPU are reported later than the call that caused them. This records the first failure, observes
 * allocations through error scopes, and detects the loss of the device.
 */
export class GpuFaults implements Disposable {
  readonly lost: Promise<Error>;
  readonly #name: string;
  readonly #device: GPUDevice;
  #error: Error | undefined;
  #hasFailedAllocations = false;
  readonly #pending = new Set<Promise<void>>();

  /** `name` is used in messages. */
  constructor(device: GPUDevice, name: string) {
    this.#device = device;
    this.#name = name;
    device.onuncapturederror = ({ error }) => void this.#refused(error);
    this.lost = device.lost.then(({ message, reason }) => {
      const why = message || reason || 'no reason given';
      const error = new RocmforgeError('DEVICE_LOST', { device: name, why });
      this.#error = error;
      return error;
    });
  }

  /** The first failure, as far as known. */
  get error(): Error | undefined {
    return this.#error;
  }

  /** Rejects with the cause of an error of the implementation: usually the loss of the device. */
  async explain(error: unknown): Promise<never> {
    // The report of a loss comes a turn later than the calls that it ends.
    await new Promise((resolve) => setTimeout(resolve, 0));
    throw this.#error ?? error;
  }

  /** Creates a buffer inside an error scope. Using it after a failed allocation does not affect anything else. */
  allocate(descriptor: GPUBufferDescriptor & { readonly label: string }): Allocation {
    const device = this.#device;
    device.pushErrorScope('out-of-memory');
    const buffer = device.createBuffer(descriptor);
    const allocation: { buffer: GPUBuffer; pending: Promise<void> | undefined; error: Error | undefined } = {
      buffer,
      error: undefined,
      // If the device is lost, `lost` reports that.
      pending: device.popErrorScope().then(
        (error) => {
          allocation.pending = undefined;
          if (!error) return;
          this.#hasFailedAllocations = true;
          allocation.error = this.#outOfMemory(descriptor.label, descriptor.size, error);
          throw allocation.error;
        },
        () => {
          allocation.pending = undefined;
        },
      ),
    };
    const known = (allocation.pending as Promise<void>).catch(nothing);
    this.#pending.add(known);
    void known.then(() => this.#pending.delete(known));
    return allocation;
  }

  /** Resolves when every allocation so far is known to have succeeded or failed. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  /** A device with a listener is never garbage-collected. */
  [Symbol.dispose](): void {
    this.#device.onuncapturederror = null;
  }

  /** Records an error outside of any scope: a bug of ours, unless it is the consequence of a failed allocation. */
  async #refused(error: GPUError): Promise<void> {
    if (error.constructor.name === 'GPUOutOfMemoryError') {
      this.#error ??= this.#outOfMemory('a buffer of the device’s own', 0, error);
      return;
    }
    await this.settled();
    if (this.#hasFailedAllocations) return;
    this.#error ??= new RocmforgeError('GPU_REFUSED', { device: this.#name, why: error.message });
  }

  #outOfMemory(what: string, bytes: number, cause: GPUError): Error {
    return new RocmforgeError('OUT_OF_MEMORY', { device: this.#name, what, bytes, free: 0 }, { cause });
  }
}
