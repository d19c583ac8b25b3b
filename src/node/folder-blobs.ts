import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { fail } from '../base/errors.ts';
import type { BlobInfo, BlobStore } from '../server/index.ts';
import { FolderLock, LOCK_FILE } from './folder-lock.ts';

/** What is being written; renamed when it is whole. */
const PARTIAL = '.partial';

/** Blobs as files of a folder, which only this user may read, and which it holds until it is disposed. */
export class FolderBlobs implements BlobStore, AsyncDisposable {
  readonly #folder: string;
  readonly #lock: FolderLock;

  private constructor(folder: string, lock: FolderLock) {
    this.#folder = folder;
    this.#lock = lock;
  }

  /**
   * Creates the folder if it does not exist. Rejects with `WRITE_FAILED` if that is not possible, and with
   * `FOLDER_IN_USE`.
   */
  static async open(folder: string): Promise<FolderBlobs> {
    await mkdir(folder, { recursive: true, mode: 0o700 }).catch((cause: unknown) => failed(folder, cause));
    return new FolderBlobs(folder, await FolderLock.take(folder));
  }

  /** Gives the folder back; what is in it stays. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#lock[Symbol.asyncDispose]();
  }

  async list(): Promise<readonly BlobInfo[]> {
    const entries = await readdir(this.#folder, { recursive: true, withFileTypes: true });
    const blobs: BlobInfo[] = [];
    for (const entry of entries) {
      if (!entry.isFile() || entry.name === LOCK_FILE) continue;
      const path = join(entry.parentPath, entry.name);
      if (entry.name.endsWith(PARTIAL)) {
        await rm(path, { force: true });
        continue;
      }
      const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
        // It was removed meanwhile.
        if (error.code !== 'ENOENT') throw error;
      });
      if (!found) continue;
      const { size, mtimeMs } = found;
      const name = relative(this.#folder, path).split(sep).join('/');
      blobs.push({ name, bytes: size, writtenAt: mtimeMs });
    }
    return blobs;
  }

  async *read(name: string): AsyncGenerator<Uint8Array, void> {
    try {
      yield* createReadStream(this.#path(name)) as AsyncIterable<Uint8Array>;
    } catch (error) {
      // It was removed meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }

  async write(name: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    const path = this.#path(name);
    const partial = `${path}${PARTIAL}`;
    await this.#makeFolder(path);
    try {
      const handle = await open(partial, 'w', 0o600).catch((cause: unknown) => failed(path, cause));
      try {
        for await (const bytes of content) {
          await handle.writeFile(bytes).catch((cause: unknown) => failed(path, cause));
        }
      } finally {
        await handle.close();
      }
      await rename(partial, path).catch((cause: unknown) => failed(path, cause));
    } catch (error) {
      await rm(partial, { force: true });
      throw error;
    }
  }

  async append(name: string, bytes: Uint8Array): Promise<void> {
    const path = this.#path(name);
    await this.#makeFolder(path);
    const handle = await open(path, 'a', 0o600).catch((cause: unknown) => failed(path, cause));
    try {
      const { size } = await handle.stat();
      await handle.appendFile(bytes).catch(async (cause: unknown) => {
        // A full disk has taken a part, behind which nothing else could be read.
        await handle.truncate(size);
        failed(path, cause);
      });
    } finally {
      await handle.close();
    }
  }

  async remove(name: string): Promise<void> {
    const path = this.#path(name);
    await rm(path, { force: true }).catch((cause: unknown) => failed(path, cause));
  }

  #path(name: string): string {
    return join(this.#folder, ...name.split('/'));
  }

  async #makeFolder(path: string): Promise<void> {
    const folder = dirname(path);
    await mkdir(folder, { recursive: true, mode: 0o700 }).catch((cause: unknown) => failed(folder, cause));
  }
}

function failed(path: string, cause: unknown): never {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return fail('WRITE_FAILED', { path, reason }, cause);
}
