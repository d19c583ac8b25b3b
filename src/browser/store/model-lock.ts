import { fail } from '../../base/errors.ts';

/**
 * Keeps others, in any tab, from changing a model while it is read, and from reading it while it changes: a lock of the browser's
 * (https://w3c.github.io/web-locks/), which ends with its tab at the latest.
 */
export class ModelLock {
  readonly #ended: Promise<unknown>;
  readonly #end: () => void;

  private constructor(ended: Promise<unknown>, end: () => void) {
    this.#ended = ended;
    this.#end = end;
  }

  /** Takes a model's lock: any number may share it, or one holds it. Rejects with `MODEL_IN_USE`, which names the model. */
  static async take(id: string, name: string, mode: LockMode): Promise<ModelLock> {
    let end = (): void => {};
    const held = new Promise<void>((resolve) => {
      end = resolve;
    });
    let ended: Promise<unknown> = held;
    const isTaken = await new Promise<boolean>((resolve, reject) => {
      const options = { mode, ifAvailable: true };
      ended = navigator.locks.request(`rocmforge model ${id}`, options, (lock) => {
        resolve(lock !== null);
        return lock === null ? undefined : held;
      });
      ended.catch(reject);
    });
    if (!isTaken) fail('MODEL_IN_USE', { model: name });
    return new ModelLock(ended, end);
  }

  /** Resolves when others can have the lock. */
  async release(): Promise<void> {
    this.#end();
    await this.#ended.catch(() => {});
  }
}
