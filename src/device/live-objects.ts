import { Lifetime } from '../base/disposal.ts';

/** Tracks the objects that a device created and that have not been disposed, and the device's own lifetime. */
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

  /** Tracks an object that was just created, and returns it. */
  add<T extends Disposable | AsyncDisposable>(object: T): T {
    this.#objects.add(object);
    return object;
  }

  /** Called by an object when it is disposed. */
  remove(object: Disposable | AsyncDisposable): void {
    this.#objects.delete(object);
  }

  /** Disposes the device: streams first, because their queued work may use the rest. Does nothing the second time. */
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
