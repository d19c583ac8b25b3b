import type { FileSystemFileHandle } from '../../base/web-types.ts';
import { fail } from '../../base/errors.ts';

/** An open file of the origin private file system (https://fs.spec.whatwg.org/#api-filesystemsyncaccesshandle). */
interface SyncAccessHandle {
  read(into: Uint8Array, options: { at: number }): number;
  write(bytes: Uint8Array, options: { at: number }): number;
  truncate(size: number): void;
  getSize(): number;
  flush(): void;
  close(): void;
}

interface SyncFileHandle extends FileSystemFileHandle {
  createSyncAccessHandle(options: { mode: 'readwrite' | 'read-only' }): Promise<SyncAccessHandle>;
}

/**
 * A stored file, open for one writer, or for readers (as many as the browser allows: one if it does not support the
 * mode). Reads and writes are synchronous and several times as fast as reading a Blob; they are available in workers
 * only.
 */
export class OpfsFile {
  readonly #file: SyncFileHandle;
  readonly #name: string;
  #handle: SyncAccessHandle;
  #reopening: Promise<void> | undefined;

  private constructor(name: string, file: SyncFileHandle, handle: SyncAccessHandle) {
    this.#name = name;
    this.#file = file;
    this.#handle = handle;
  }

  /** Opens a file; errors refer to it by name. Rejects with `MODEL_IN_USE`. */
  static async open(
    name: string,
    file: FileSystemFileHandle,
    mode: 'readwrite' | 'read-only',
  ): Promise<OpfsFile> {
    return new OpfsFile(name, file as SyncFileHandle, await openHandle(name, file as SyncFileHandle, mode));
  }

  get size(): number {
    return this.#handle.getSize();
  }

  /** Fills `into` from `offset` on. Rejects with `READ_SHORT` or `READ_FAILED`. */
  async read(offset: number, into: Uint8Array): Promise<void> {
    while (this.#reopening) await this.#reopening;
    const source = this.#name;
    const length = into.byteLength;
    let found: number;
    try {
      found = this.#handle.read(into, { at: offset });
    } catch (cause) {
      return fail('READ_FAILED', { source, offset, length, reason: String(cause) }, cause);
    }
    if (found !== length) fail('READ_SHORT', { source, offset, length, found });
  }

  /** Throws the browser's errors: a `QuotaExceededError` if there is no space. */
  write(offset: number, bytes: Uint8Array): void {
    for (let done = 0; done < bytes.byteLength;) {
      done += this.#handle.write(bytes.subarray(done), { at: offset + done });
    }
  }

  truncate(size: number): void {
    this.#handle.truncate(size);
  }

  flush(): void {
    this.#handle.flush();
  }

  /** Gives up write access, so that others can read too. Reads wait meanwhile. */
  async becomeReadOnly(): Promise<void> {
    this.#reopening = this.#reopen();
    await this.#reopening;
  }

  close(): void {
    this.#handle.close();
  }

  async #reopen(): Promise<void> {
    this.#handle.flush();
    this.#handle.close();
    try {
      this.#handle = await openHandle(this.#name, this.#file, 'read-only');
    } finally {
      this.#reopening = undefined;
    }
  }
}

async function openHandle(
  name: string,
  file: SyncFileHandle,
  mode: 'readwrite' | 'read-only',
): Promise<SyncAccessHandle> {
  try {
    return await file.createSyncAccessHandle({ mode });
  } catch (cause) {
    return fail('MODEL_IN_USE', { model: name }, cause);
  }
}
