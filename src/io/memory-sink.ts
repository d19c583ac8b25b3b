import type { UnsharedBytes } from '../base/web-types.ts';
import type { ByteSink } from './byte-sink.ts';

/** Collects bytes in memory. */
export class MemorySink implements ByteSink {
  readonly #pieces: Uint8Array[] = [];
  #byteLength = 0;

  /** Bytes written so far. */
  get byteLength(): number {
    return this.#byteLength;
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#pieces.push(bytes.slice());
    this.#byteLength += bytes.byteLength;
  }

  /** Everything written so far, in one array of its own. */
  bytes(): UnsharedBytes {
    const all = new Uint8Array(this.#byteLength);
    let at = 0;
    for (const piece of this.#pieces) {
      all.set(piece, at);
      at += piece.byteLength;
    }
    return all;
  }
}
