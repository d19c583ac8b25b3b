import { Lifetime } from '../base/disposal.ts';
import { fail, throwIfAborted } from '../base/errors.ts';
import type { ByteSource } from './byte-source.ts';

/** What every source checks before it touches a byte: alive, in range, not aborted. */
export abstract class CheckedSource implements ByteSource {
  readonly #lifetime: Lifetime;

  constructor(
    readonly name: string,
    readonly size: number,
  ) {
    this.#lifetime = new Lifetime(`byte source ${name}`);
  }

  async read(offset: number, into: Uint8Array, signal?: AbortSignal): Promise<void> {
    this.checkRange(offset, into.byteLength);
    throwIfAborted(signal, `reading ${this.name}`);
    if (into.byteLength > 0) await this.fill(offset, into, signal);
  }

  async dispose(): Promise<void> {
    if (this.#lifetime.end()) await this.release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  /** Throws unless the source is alive and holds the whole range. */
  protected checkRange(offset: number, length: number): void {
    this.#lifetime.check();
    if (!Number.isSafeInteger(offset) || offset < 0 || length < 0 || offset + length > this.size) {
      fail('READ_OUT_OF_RANGE', { source: this.name, offset, length, size: this.size });
    }
  }

  /** Fills a range that was checked and is not empty. */
  protected abstract fill(offset: number, into: Uint8Array, signal?: AbortSignal): Promise<void>;

  /** Gives back what the source holds; called once. */
  protected abstract release(): Promise<void>;
}
