import { RocmforgeError } from '../../base/errors.ts';

/**
 * What goes wrong on a GPU is told later than the call that caused it. This keeps the first failure, watches allocations by
 * error scopes, and knows when the device is lost.
 */
export class GpuFaults {
  readonly lost: Promise<Error>;
  readonly #name: string;
  readonly #device: GPUDevice;
  #error: Error | undefined;
  #pending = new Set<Promise<void>>();

  /** `name` stands in messages. */
  constructor(device: GPUDevice, name: string) {
    this.#device = device;
    this.#name = name;
    device.onuncapturederror = ({ error }) => {
      this.#error ??= new RocmforgeError('GPU_REFUSED', { device: name, why: error.message });
    };
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

  /** Runs a call that allocates; that it ran out of memory is known after `settled`, and told to `failed`. */
  allocate<T>(what: string, bytes: number, create: () => T, failed: (error: Error) => void): T {
    this.#device.pushErrorScope('out-of-memory');
    try {
      return create();
    } finally {
      const scope = this.#device.popErrorScope().then(
        (error) => {
          if (!error) return;
          const params = { device: this.#name, what, bytes, free: 0 };
          failed(new RocmforgeError('OUT_OF_MEMORY', params, { cause: error }));
        },
        () => {
          // The device is lost; `lost` says so.
        },
      );
      this.#pending.add(scope);
      void scope.then(() => this.#pending.delete(scope));
    }
  }

  /** Resolves when every allocation so far is known to have succeeded or failed. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }
}
