import { fail } from './errors.ts';

/**
 * Remembers whether its owner is disposed, and throws the typed error for a use after that. The creator of an object owns
 * it and disposes it; disposing twice is harmless.
 */
export class Lifetime {
  #disposed = false;

  constructor(readonly what: string) {}

  get disposed(): boolean {
    return this.#disposed;
  }

  /** Throws `DISPOSED` once `end` was called. */
  check(): void {
    if (this.#disposed) fail('DISPOSED', { what: this.what });
  }

  /** True the first time only, so that a second disposal does nothing. */
  end(): boolean {
    if (this.#disposed) return false;
    this.#disposed = true;
    return true;
  }
}
