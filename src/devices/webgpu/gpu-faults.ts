import { RocmforgeError } from '../../base/errors.ts';

/** A buffer of which it turns out later whether there was room for it. */
export interface Allocation {
  readonly buffer: GPUBuffer;
  /** Resolves when it is known that there was room, rejects when there was none; undefined once that is known. */
  readonly pending: Promise<void> | undefined;
  /** `OUT_OF_MEMORY`, once it is known. */
  readonly error: Error | undefined;
}

function nothing(): void {}

/**
 * What goes wrong on a GPU is told later than the call that caused it. This keeps the first failure, watches allocations by
 * error scopes, and knows when the device is lost.
 */
export class GpuFaults implements Disposable {
  readonly lost: Promise<Error>;
  readonly #name: string;
  readonly #device: GPUDevice;
  #error: Error | undefined;
  #hasFailedAllocations = false;
  readonly #pending = new Set<Promise<void>>();

  /** `name` stands in messages. */
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

  /** What failed first, as far as is known. */
  get error(): Error | undefined {
    return this.#error;
  }

  /** Rejects with what is behind an error that the implementation gave: the loss of the device, as a rule. */
  async explain(error: unknown): Promise<never> {
    // The news of a loss comes a turn later than the calls that it ends.
    await new Promise((resolve) => setTimeout(resolve, 0));
    throw this.#error ?? error;
  }

  /** Creates a buffer within an error scope. Using it while there is no room for it does no harm to anything else. */
  allocate(descriptor: GPUBufferDescriptor & { readonly label: string }): Allocation {
    const device = this.#device;
    device.pushErrorScope('out-of-memory');
    const buffer = device.createBuffer(descriptor);
    const allocation: { buffer: GPUBuffer; pending: Promise<void> | undefined; error: Error | undefined } = {
      buffer,
      error: undefined,
      // When the device is lost, `lost` says so.
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

  /** A device with a listener is never collected as garbage. */
  [Symbol.dispose](): void {
    this.#device.onuncapturederror = null;
  }

  /** Keeps an error that no scope took: a bug of ours, unless it follows from memory that was not there. */
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
