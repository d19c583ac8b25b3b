import type { UnsharedBytes } from '../base/web-types.ts';
import { fail } from '../base/errors.ts';
import type { ByteSource } from '../io/index.ts';

/** Size of the first read; each later one is as long as all before together, up to `MAX_CHUNK_BYTES`. */
const MIN_CHUNK_BYTES = 64 << 10;
const MAX_CHUNK_BYTES = 1 << 20;

/** Far larger than any real header (256k tokens with merges take about 20 MB), but still harmless to allocate. */
const DEFAULT_MAX_HEADER_BYTES = 256 << 20;

/** Options for reading a header. */
export interface HeaderOptions {
  /** Cancels reading. */
  readonly signal?: AbortSignal;
  /** Maximum accepted header size. Default 256 MiB. */
  readonly maxHeaderBytes?: number;
}

/**
 * A cursor over the start of a source that reads ahead in growing chunks. Memory grows only with bytes actually read:
 * lengths are checked against the source's size and the limit before anything is allocated.
 */
export class HeaderReader {
  position = 0;
  readonly #source: ByteSource;
  readonly #signal: AbortSignal | undefined;
  readonly #limit: number;
  #bytes = new Uint8Array(0);
  #view = new DataView(this.#bytes.buffer);
  #loaded = 0;

  constructor(source: ByteSource, options: HeaderOptions) {
    this.#source = source;
    this.#signal = options.signal;
    this.#limit = options.maxHeaderBytes ?? DEFAULT_MAX_HEADER_BYTES;
  }

  /** The source's name, used in messages. */
  get sourceName(): string {
    return this.#source.name;
  }

  /** Bytes between the cursor and the end of the source. */
  get remaining(): number {
    return this.#source.size - this.position;
  }

  /** All bytes before the cursor, not copied; memory beyond them was never touched and costs nothing. */
  taken(): UnsharedBytes {
    return this.#bytes.subarray(0, this.position);
  }

  async u8(what: string): Promise<number> {
    await this.#need(1, what);
    return this.#view.getUint8(this.#advance(1));
  }

  async u32(what: string): Promise<number> {
    await this.#need(4, what);
    return this.#view.getUint32(this.#advance(4), true);
  }

  /** Reads a count, length or offset. Rejects values that a double cannot represent exactly. */
  async u64(what: string): Promise<number> {
    await this.#need(8, what);
    return this.#exact(this.#advance(8), what);
  }

  /** Reads a count of items of at least `minBytes` each, which the rest of the file therefore bounds. */
  async count(minBytes: number, what: string): Promise<number> {
    const count = await this.u64(what);
    if (count * minBytes > this.remaining) {
      const expected = `at most ${Math.floor(this.remaining / minBytes)} in the ${this.remaining} bytes left`;
      fail('GGUF_INVALID', { source: this.sourceName, what, found: `${count}`, expected });
    }
    return count;
  }

  /** Reads the next `length` bytes; valid until the next read. */
  async bytes(length: number, what: string): Promise<Uint8Array> {
    await this.skip(length, what);
    return this.#bytes.subarray(this.position - length, this.position);
  }

  /** Loads and skips the next `length` bytes. */
  async skip(length: number, what: string): Promise<void> {
    await this.#need(length, what);
    this.#advance(length);
  }

  /** Skips `count` strings. Vocabularies have hundreds of thousands, so it awaits only when bytes are missing. */
  async skipStrings(count: number, what: string): Promise<void> {
    let left = this.#skipLoadedStrings(count, what);
    while (left > 0) {
      await this.skip(await this.u64(what), what);
      left = this.#skipLoadedStrings(left - 1, what);
    }
  }

  /** Skips at most `count` strings that are fully loaded. Returns how many remain. */
  #skipLoadedStrings(count: number, what: string): number {
    const loaded = this.#loaded;
    let position = this.position;
    let left = count;
    while (left > 0 && position + 8 <= loaded) {
      const end = position + 8 + this.#exact(position, what);
      if (end > loaded) break;
      position = end;
      left--;
    }
    this.position = position;
    return left;
  }

  #advance(length: number): number {
    const at = this.position;
    this.position += length;
    return at;
  }

  #exact(at: number, what: string): number {
    const high = this.#view.getUint32(at + 4, true);
    if (high > 0x1fffff) {
      const found = `${this.#view.getBigUint64(at, true)}`;
      fail('GGUF_INVALID', { source: this.sourceName, what, found, expected: 'less than 2^53' });
    }
    return high * 2 ** 32 + this.#view.getUint32(at, true);
  }

  async #need(length: number, what: string): Promise<void> {
    const end = this.position + length;
    if (end <= this.#loaded) return;
    const source = this.sourceName;
    if (length > this.remaining) {
      const { size } = this.#source;
      fail('GGUF_TRUNCATED', { source, what, offset: this.position, needed: length, size });
    }
    if (end > this.#limit) fail('GGUF_HEADER_TOO_LARGE', { source, what, needed: end, limit: this.#limit });
    await this.#loadUpTo(end);
  }

  async #loadUpTo(end: number): Promise<void> {
    const ahead = Math.min(Math.max(this.#loaded, MIN_CHUNK_BYTES), MAX_CHUNK_BYTES);
    const target = Math.min(Math.max(end, this.#loaded + ahead), this.#source.size);
    if (target > this.#bytes.byteLength) {
      const grown = new Uint8Array(Math.min(Math.max(target, 2 * this.#bytes.byteLength), this.#source.size));
      grown.set(this.#bytes.subarray(0, this.#loaded));
      this.#bytes = grown;
      this.#view = new DataView(grown.buffer);
    }
    await this.#source.read(this.#loaded, this.#bytes.subarray(this.#loaded, target), this.#signal);
    this.#loaded = target;
  }
}
