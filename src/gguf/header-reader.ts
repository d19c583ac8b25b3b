import { fail } from '../base/errors.ts';
import type { ByteSource } from '../io/index.ts';

/** The first read; every later one is as long as all before, up to `MAX_CHUNK_BYTES`. */
const MIN_CHUNK_BYTES = 64 << 10;
const MAX_CHUNK_BYTES = 1 << 20;

/** Far above any real header (256k tokens with merges are about 20 MB), far below what would hurt. */
const DEFAULT_MAX_HEADER_BYTES = 256 << 20;

/** How a header is read. */
export interface HeaderOptions {
  /** Cancels the reading. */
  readonly signal?: AbortSignal;
  /** The longest header that is accepted; 256 MiB where not given. */
  readonly maxHeaderBytes?: number;
}

/**
 * A cursor over the start of a source that reads ahead in growing chunks. Memory grows only with bytes that were really
 * read: a length is checked against the source's size, and against the limit, before anything is allocated for it.
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

  /** The source's name, for messages. */
  get sourceName(): string {
    return this.#source.name;
  }

  /** Bytes between the cursor and the end of the source. */
  get remaining(): number {
    return this.#source.size - this.position;
  }

  /** Everything before the cursor, not copied: what lies behind it was never touched and costs no memory. */
  taken(): Uint8Array<ArrayBuffer> {
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

  /** A count, length or offset. Rejects one that a double cannot hold exactly. */
  async u64(what: string): Promise<number> {
    await this.#need(8, what);
    return this.#exact(this.#advance(8), what);
  }

  /** A count of things that take at least `minBytes` each, so that the rest of the file bounds it. */
  async count(minBytes: number, what: string): Promise<number> {
    const count = await this.u64(what);
    if (count * minBytes > this.remaining) {
      const expected = `at most ${Math.floor(this.remaining / minBytes)} in the ${this.remaining} bytes left`;
      fail('GGUF_INVALID', { source: this.sourceName, what, found: `${count}`, expected });
    }
    return count;
  }

  /** The next `length` bytes; valid until the next read. */
  async bytes(length: number, what: string): Promise<Uint8Array> {
    await this.skip(length, what);
    return this.#bytes.subarray(this.position - length, this.position);
  }

  /** Loads the next `length` bytes and steps over them. */
  async skip(length: number, what: string): Promise<void> {
    await this.#need(length, what);
    this.#advance(length);
  }

  /** Steps over `count` strings: vocabularies have hundreds of thousands, so it waits only where bytes are missing. */
  async skipStrings(count: number, what: string): Promise<void> {
    let left = this.#skipLoadedStrings(count, what);
    while (left > 0) {
      await this.skip(await this.u64(what), what);
      left = this.#skipLoadedStrings(left - 1, what);
    }
  }

  /** Steps over the strings that are loaded whole, at most `count`. Gives how many of them are left. */
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
