import { read } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { fail, throwIfAborted } from '../base/errors.ts';
import { CheckedSource } from '../io/index.ts';
import { DIRECT_ALIGNMENT, DirectFile } from './direct-file.ts';

/** The system reads at most 2 GiB at once; smaller pieces allow aborting. */
const PIECE_BYTES = 64 << 20;

/** A regular file that is open. */
export interface OpenedFile {
  readonly path: string;
  readonly size: number;
  /** Time of the last modification, in nanoseconds. */
  readonly changedAt: bigint;
  readonly handle: FileHandle;
}

/**
 * A file read by position, with many reads in flight (as many as libuv has threads: see `UV_THREADPOOL_SIZE`), directly
 * into the caller's memory, including shared memory.
 */
export class FileSource extends CheckedSource {
  readonly readAlignment = DIRECT_ALIGNMENT;
  /** @internal */
  protected readonly handle: FileHandle;
  readonly #direct: DirectFile;
  readonly #changedAt: bigint;

  /** @internal */
  protected constructor(file: OpenedFile) {
    super(file.path, file.size);
    this.handle = file.handle;
    this.#direct = new DirectFile(file.handle.fd);
    this.#changedAt = file.changedAt;
  }

  /** Rejects with `SOURCE_UNAVAILABLE` if there is no readable regular file at `path`. */
  static async open(path: string): Promise<FileSource> {
    return new FileSource(await openRegularFile(path));
  }

  async checkUnchanged(): Promise<void> {
    const { size, mtimeNs } = await this.handle.stat({ bigint: true });
    const expected = `${this.size} bytes, changed at ${this.#changedAt} ns`;
    const found = `${size} bytes, changed at ${mtimeNs} ns`;
    if (found !== expected)
      fail('SOURCE_CHANGED', { source: this.name, what: 'its content', found, expected });
  }

  /** Whether reading a range directly is faster than through the page cache; called before each read. */
  protected isCold(_offset: number, _length: number): boolean {
    return false;
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
  protected async release(): Promise<void> {
    await this.#direct.close();
    await this.handle.close();
  }

  async #readPiece(into: Uint8Array, at: number, length: number, position: number): Promise<number> {
    try {
      const direct = this.isCold(position, length)
        ? await this.#direct.read(into.subarray(at, at + length), position)
        : undefined;
      return direct ?? (await readAt(this.handle, into, { at, length, position }));
    } catch (cause) {
      const reason = reasonOf(cause);
      return fail('READ_FAILED', { source: this.name, offset: position, length, reason }, cause);
    }
  }
}

/** Like `FileHandle.read`, at a fraction of its cost on the main thread. */
function readAt(
  { fd }: FileHandle,
  into: Uint8Array,
  { at, length, position }: { at: number; length: number; position: number },
): Promise<number> {
  return new Promise((resolve, reject) => {
    read(fd, into, at, length, position, (error, bytesRead) => (error ? reject(error) : resolve(bytesRead)));
  });
}

/** Opens a file for reading and determines its size. */
export async function openRegularFile(path: string): Promise<OpenedFile> {
  const unavailable = (cause: unknown): never =>
    fail('SOURCE_UNAVAILABLE', { source: path, reason: reasonOf(cause) }, cause);
  // Checked before opening: opening a pipe would block until there is a writer.
  const stats = await stat(path, { bigint: true }).catch(unavailable);
  if (!stats.isFile()) {
    const folder = 'it is a folder: name a GGUF file in it (rocmforge convert makes one of safetensors)';
    const reason = stats.isDirectory() ? folder : 'it is not a regular file';
    fail('SOURCE_UNAVAILABLE', { source: path, reason });
  }
  const handle = await open(path, 'r').catch(unavailable);
  return { path, size: Number(stats.size), changedAt: stats.mtimeNs, handle };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
