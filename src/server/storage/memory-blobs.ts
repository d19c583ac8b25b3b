import type { BlobInfo, BlobStore } from './blob-store.ts';

/** Bytes of the pieces that content is collected in: an object for each byte that arrives alone would be far larger. */
const PIECE_BYTES = 2 ** 16;

/** Blobs in memory, which are gone when the server ends. */
export class MemoryBlobs implements BlobStore {
  readonly #blobs = new Map<string, Pieces>();

  async list(): Promise<readonly BlobInfo[]> {
    return Array.from(this.#blobs, ([name, { bytes, writtenAt }]) => ({ name, bytes, writtenAt }));
  }

  async *read(name: string): AsyncGenerator<Uint8Array, void> {
    yield* this.#blobs.get(name)?.all() ?? [];
  }

  async write(name: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    const pieces = new Pieces();
    for await (const bytes of content) pieces.add(bytes);
    this.#blobs.set(name, pieces);
  }

  async append(name: string, bytes: Uint8Array): Promise<void> {
    const pieces = this.#blobs.get(name) ?? new Pieces();
    pieces.add(bytes);
    this.#blobs.set(name, pieces);
  }

  async remove(name: string): Promise<void> {
    this.#blobs.delete(name);
  }
}

/** Bytes in pieces that only grow: what was read of them stays as it is. */
class Pieces {
  readonly #full: Uint8Array[] = [];
  #last = new Uint8Array(0);
  #used = 0;
  bytes = 0;
  writtenAt = Date.now();

  /** Copies the bytes: whoever sends them may use their buffer again. */
  add(bytes: Uint8Array): void {
    this.writtenAt = Date.now();
    this.bytes += bytes.length;
    for (let from = 0; from < bytes.length;) {
      if (this.#used === this.#last.length) this.#grow(bytes.length - from);
      const count = Math.min(bytes.length - from, this.#last.length - this.#used);
      this.#last.set(bytes.subarray(from, from + count), this.#used);
      this.#used += count;
      from += count;
    }
  }

  /** Everything so far. */
  all(): Uint8Array[] {
    return [...this.#full, this.#last.subarray(0, this.#used)];
  }

  /** A small blob takes what it needs, a growing one twice as much each time. */
  #grow(bytes: number): void {
    if (this.#used > 0) this.#full.push(this.#last);
    this.#last = new Uint8Array(Math.min(PIECE_BYTES, Math.max(bytes, 2 * this.#last.length)));
    this.#used = 0;
  }
}
