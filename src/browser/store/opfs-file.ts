import type { FileSystemFileHandle } from '../../base/web-types.ts';
import { fail, invariant } from '../../base/errors.ts';

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
 * A stored file, open for one writer or for readers, which is up to the caller. Writes are synchronous, and so are reads where the browser has
 * handles for reading only; elsewhere a handle keeps all others out, and readers read the file as a Blob, which takes several times as long.
 * Workers only.
 */
export class OpfsFile {
  readonly #file: SyncFileHandle;
  readonly #name: string;
  #open: SyncAccessHandle | File;
  #reopening: Promise<void> | undefined;

  private constructor(name: string, file: SyncFileHandle, open: SyncAccessHandle | File) {
    this.#name = name;
    this.#file = file;
    this.#open = open;
  }

  /** Opens a file; errors refer to it by name. Rejects with `MODEL_IN_USE`. */
  static async open(
    name: string,
    file: FileSystemFileHandle,
    mode: 'readwrite' | 'read-only',
  ): Promise<OpfsFile> {
    return new OpfsFile(name, file as SyncFileHandle, await open(name, file as SyncFileHandle, mode));
  }

  get size(): number {
    return this.#open instanceof File ? this.#open.size : this.#open.getSize();
  }

  /** Fills `into` from `offset` on. Rejects with `READ_SHORT` or `READ_FAILED`. */
  async read(offset: number, into: Uint8Array): Promise<void> {
    while (this.#reopening) await this.#reopening;
    const source = this.#name;
    const length = into.byteLength;
    let found: number;
    try {
      const from = this.#open;
      found = from instanceof File ? await readBlob(from, offset, into) : from.read(into, { at: offset });
    } catch (cause) {
      return fail('READ_FAILED', { source, offset, length, reason: String(cause) }, cause);
    }
    if (found !== length) fail('READ_SHORT', { source, offset, length, found });
  }

  /** Throws the browser's errors: a `QuotaExceededError` if there is no space. */
  write(offset: number, bytes: Uint8Array): void {
    const handle = this.#writable();
    for (let done = 0; done < bytes.byteLength;) {
      done += handle.write(bytes.subarray(done), { at: offset + done });
    }
  }

  truncate(size: number): void {
    this.#writable().truncate(size);
  }

  flush(): void {
    this.#writable().flush();
  }

  /** Gives up write access, so that others can read too. Reads wait meanwhile. */
  async becomeReadOnly(): Promise<void> {
    this.#reopening = this.#reopen();
    await this.#reopening;
  }

  close(): void {
    if (!(this.#open instanceof File)) this.#open.close();
  }

  #writable(): SyncAccessHandle {
    invariant(!(this.#open instanceof File), 'a file that is written is open for writing');
    return this.#open;
  }

  async #reopen(): Promise<void> {
    this.flush();
    this.close();
    try {
      this.#open = await open(this.#name, this.#file, 'read-only');
    } finally {
      this.#reopening = undefined;
    }
  }
}

async function open(
  name: string,
  file: SyncFileHandle,
  mode: 'readwrite' | 'read-only',
): Promise<SyncAccessHandle | File> {
  try {
    if (mode === 'read-only' && !hasSharedHandles()) return await file.getFile();
    return await file.createSyncAccessHandle({ mode });
  } catch (cause) {
    return fail('MODEL_IN_USE', { model: name }, cause);
  }
}

/** Whether several readers can have handles of one file: browsers that know the mode tell it of each handle. */
function hasSharedHandles(): boolean {
  const { FileSystemSyncAccessHandle: Handle } = globalThis as {
    FileSystemSyncAccessHandle?: { readonly prototype: object };
  };
  return Handle !== undefined && 'mode' in Handle.prototype;
}

async function readBlob(file: File, offset: number, into: Uint8Array): Promise<number> {
  const bytes = new Uint8Array(await file.slice(offset, offset + into.byteLength).arrayBuffer());
  into.set(bytes);
  return bytes.byteLength;
}
