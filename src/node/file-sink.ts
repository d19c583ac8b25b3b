import { type FileHandle, open } from 'node:fs/promises';
import { fail } from '../base/errors.ts';
import type { ByteSink } from '../io/index.ts';

/** Writes a new file, or replaces an existing one, sequentially. The creator disposes it. */
export class FileSink implements ByteSink, AsyncDisposable {
  readonly #name: string;
  readonly #handle: FileHandle;
  #closed = false;

  private constructor(name: string, handle: FileHandle) {
    this.#name = name;
    this.#handle = handle;
  }

  /** Rejects with `WRITE_FAILED`, which calls the file `name`; with `isNew`, also if the file exists. */
  static async create(path: string, isNew = false, name = path): Promise<FileSink> {
    const handle = await open(path, isNew ? 'wx' : 'w').catch((cause: unknown) => writeFailed(name, cause));
    return new FileSink(name, handle);
  }

  async write(bytes: Uint8Array): Promise<void> {
    let done = 0;
    while (done < bytes.byteLength) {
      const { bytesWritten } = await this.#handle
        .write(bytes, done)
        .catch((cause: unknown) => writeFailed(this.#name, cause));
      done += bytesWritten;
    }
  }

  async dispose(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#handle.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }
}

/** Throws `WRITE_FAILED`. */
export function writeFailed(path: string, cause: unknown): never {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return fail('WRITE_FAILED', { path, reason }, cause);
}
