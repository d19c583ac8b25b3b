import { Lifetime } from '../base/disposal.ts';

/** What a device created and nobody disposed yet. Owns the device's own lifetime too. */
export class LiveObjects {
  readonly #lifetime: Lifetime;
  readonly #objects = new Set<Disposable | AsyncDisposable>();

  /** `what` names the device in `DISPOSED`. */
  constructor(what: string) {
    this.#lifetime = new Lifetime(what);
  }

  get count(): number {
    return this.#objects.size;
  }

  /** True once the device is disposed. */
  get ended(): boolean {
    return this.#lifetime.disposed;
  }

  /** Throws `DISPOSED` once the device is disposed. */
  check(): void {
    this.#lifetime.check();
  }

  /** Counts an object that was just created, and gives it back. */
  add<T extends Disposable | AsyncDisposable>(object: T): T {
    this.#objects.add(object);
    return object;
  }

  /** Called by an object when it is disposed. */
  remove(object: Disposable | AsyncDisposable): void {
    this.#objects.delete(object);
  }

  /** Ends the device: disposes the streams first, whose queued work may name the rest. Does nothing the second time. */
  async disposeAll(): Promise<void> {
    if (!this.#lifetime.end()) return;
    for (const object of [...this.#objects]) {
      if (Symbol.asyncDispose in object) await object[Symbol.asyncDispose]();
    }
    for (const object of [...this.#objects]) {
      if (Symbol.dispose in object) object[Symbol.dispose]();
    }
  }
}
