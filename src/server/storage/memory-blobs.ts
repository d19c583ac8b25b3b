import type { BlobInfo, BlobStore } from './blob-store.ts';

/** Blobs in memory, which are gone when the server ends. */
export class MemoryBlobs implements BlobStore {
  readonly #blobs = new Map<string, { readonly pieces: readonly Uint8Array[]; readonly writtenAt: number }>();

  async list(): Promise<readonly BlobInfo[]> {
    return Array.from(this.#blobs, ([name, { pieces, writtenAt }]) => {
      return { name, bytes: pieces.reduce((sum, { length }) => sum + length, 0), writtenAt };
    });
  }

  async *read(name: string): AsyncGenerator<Uint8Array, void> {
    yield* this.#blobs.get(name)?.pieces ?? [];
  }

  async write(name: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    const pieces: Uint8Array[] = [];
    // Copies: whoever sends bytes may use their buffer again.
    for await (const bytes of content) pieces.push(bytes.slice());
    this.#blobs.set(name, { pieces, writtenAt: Date.now() });
  }

  async append(name: string, bytes: Uint8Array): Promise<void> {
    const pieces = [...(this.#blobs.get(name)?.pieces ?? []), bytes.slice()];
    this.#blobs.set(name, { pieces, writtenAt: Date.now() });
  }

  async remove(name: string): Promise<void> {
    this.#blobs.delete(name);
  }
}
