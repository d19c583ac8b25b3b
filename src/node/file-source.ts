import { type FileHandle, open, stat } from 'node:fs/promises';
import { fail, throwIfAborted } from '../base/errors.ts';
import { CheckedSource } from '../io/index.ts';

/** The system reads at most 2 GiB at once; smaller pieces let an abort be noticed. */
const PIECE_BYTES = 64 << 20;

/** A regular file that was opened, not yet a source. */
export interface OpenedFile {
  readonly path: string;
  readonly size: number;
  readonly handle: FileHandle;
}

/**
 * A file read by position, many reads in flight (as many as libuv has threads: see `UV_THREADPOOL_SIZE`), straight into the
 * caller's memory, shared memory included.
 */
export class FileSource extends CheckedSource {
  protected readonly handle: FileHandle;

  protected constructor(file: OpenedFile) {
    super(file.path, file.size);
    this.handle = file.handle;
  }

  /** Rejects with `SOURCE_UNAVAILABLE` when there is no readable regular file at `path`. */
  static async open(path: string): Promise<FileSource> {
    return new FileSource(await openRegularFile(path));
  }

  protected async fill(offset: number, into: Uint8Array, signal?: AbortSignal): Promise<void> {
    let done = 0;
    while (done < into.byteLength) {
      throwIfAborted(signal, `reading ${this.name}`);
      const length = Math.min(PIECE_BYTES, into.byteLength - done);
      const bytesRead = await this.#readPiece(into, done, length, offset + done);
      if (bytesRead === 0) {
        fail('READ_SHORT', { source: this.name, offset, length: into.byteLength, found: done });
      }
      done += bytesRead;
    }
  }

  /** Waits for the reads in flight. */
  protected release(): Promise<void> {
    return this.handle.close();
  }

  async #readPiece(into: Uint8Array, at: number, length: number, position: number): Promise<number> {
    try {
      return (await this.handle.read(into, at, length, position)).bytesRead;
    } catch (cause) {
      const reason = reasonOf(cause);
      return fail('READ_FAILED', { source: this.name, offset: position, length, reason }, cause);
    }
  }
}

/** Opens a file for reading and learns its size. */
export async function openRegularFile(path: string): Promise<OpenedFile> {
  const unavailable = (cause: unknown): never =>
    fail('SOURCE_UNAVAILABLE', { source: path, reason: reasonOf(cause) }, cause);
  // Asked before opening: opening a pipe would wait for its writer for ever.
  const stats = await stat(path).catch(unavailable);
  if (!stats.isFile()) fail('SOURCE_UNAVAILABLE', { source: path, reason: 'it is not a regular file' });
  const handle = await open(path, 'r').catch(unavailable);
  return { path, size: stats.size, handle };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
