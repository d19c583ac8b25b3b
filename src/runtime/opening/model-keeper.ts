import { fail, throwIfAborted } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/log.ts';
import type { Device } from '../../device/index.ts';
import { LoadedModel, type ModelOptions, type ModelSetup } from './loaded-model.ts';

/** Milliseconds before each attempt to reopen a lost device: a driver may need some time to recover. */
const PAUSES = [0, 250, 1000];

/**
 * Keeps a model on a device: after a loss, reopens the device and reloads the model. Owns the device, unless it is
 * shared.
 */
export class ModelKeeper implements AsyncDisposable {
  readonly #setup: ModelSetup;
  readonly #options: ModelOptions;
  readonly #draftMemory: number;
  readonly #log: Logger;
  #current: LoadedModel;
  #restoring: Promise<unknown> = Promise.resolve();

  private constructor(
    setup: ModelSetup,
    options: ModelOptions,
    { draftMemory, current }: { readonly draftMemory: number; readonly current: LoadedModel },
  ) {
    // The compiled model would keep the first device alive.
    this.#setup = { ...setup, compiled: undefined };
    this.#options = options;
    this.#draftMemory = draftMemory;
    this.#log = options.logger ?? silentLogger;
    this.#current = current;
  }

  /** Rejects as `LoadedModel.open`; the device then remains the caller's. */
  static async open(setup: ModelSetup, options: ModelOptions, draftMemory = 0): Promise<ModelKeeper> {
    const current = await LoadedModel.open(setup, options, draftMemory);
    return new ModelKeeper(setup, options, { draftMemory, current });
  }

  /** The current model; during recovery, the lost one. */
  get current(): LoadedModel {
    return this.#current;
  }

  /**
   * How a lost device is replaced, if possible: disposes what was on it; rejects with `DEVICE_NOT_RESTORED` or
   * `ABORTED`.
   */
  get restore(): ((lost: Error, signal: AbortSignal) => Promise<LoadedModel>) | undefined {
    const { reopen, sharedMemory } = this.#setup;
    // A device that is shared with other models cannot be replaced by one of them.
    if (!reopen || sharedMemory) return undefined;
    return (lost, signal) => {
      const restoring = this.#restore(reopen, lost, signal);
      this.#restoring = restoring.catch(() => {});
      return restoring;
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#restoring;
    await this.#leave();
  }

  async #restore(reopen: () => Promise<Device>, lost: Error, signal: AbortSignal): Promise<LoadedModel> {
    const { backend } = this.#current.device.info;
    this.#log.warn('device lost: it is opened again', { device: backend, reason: lost.message });
    await this.#leave().catch((error: unknown) => this.#log.warn('what was lost is not released', { error }));
    let failure = lost;
    for (const pause of PAUSES) {
      await sleep(pause, signal);
      const begin = performance.now();
      try {
        this.#current = await this.#open(reopen, signal);
        this.#log.warn('device restored', { device: backend, ms: performance.now() - begin });
        return this.#current;
      } catch (error) {
        throwIfAborted(signal, 'restoring the device');
        failure = error instanceof Error ? error : new Error(String(error));
        this.#log.warn('device not restored', { device: backend, reason: failure.message });
      }
    }
    const params = { device: backend, attempts: PAUSES.length, why: failure.message };
    return fail('DEVICE_NOT_RESTORED', params, failure);
  }

  async #open(reopen: () => Promise<Device>, signal: AbortSignal): Promise<LoadedModel> {
    const device = await reopen();
    try {
      // Progress was already reported for the first load.
      const options = { ...this.#options, ...this.#current.options, onProgress: undefined, signal };
      return await LoadedModel.open({ ...this.#setup, device }, options, this.#draftMemory);
    } catch (error) {
      if (!this.#setup.sharesDevice) await device[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #leave(): Promise<void> {
    await this.#current[Symbol.asyncDispose]();
    const { sharedMemory, sharesDevice } = this.#setup;
    if (!sharedMemory && !sharesDevice) await this.#current.device[Symbol.asyncDispose]();
  }
}

/** Resolves after so many milliseconds. Rejects with `ABORTED` if the signal fires first. */
function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      try {
        throwIfAborted(signal, 'restoring the device');
      } catch (error) {
        reject(error);
      }
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}
