import { fail } from '../../base/errors.ts';
import { ModelFile } from './model-file.ts';
import { ModelLock } from './model-lock.ts';
import { OpfsFile } from './opfs-file.ts';
import { parseRecord, type StoreRecord, type WrittenRecord } from './store-record.ts';

/** The location of models in the origin private file system: one folder each, with the file and its record. */
const PATH = ['rocmforge', 'models'];
const MODEL = 'model.gguf';
/** Written alternately, so that one is complete while the other is being written. */
const RECORDS = ['model.json', 'model.other.json'] as const;

/** Whether a browser has files of its pages at all. */
export function keepsFiles(storage: { readonly getDirectory?: unknown }): boolean {
  return typeof storage.getDirectory === 'function';
}

/** A browser's folder of stored models, by id. */
export class StoreFolder {
  readonly #root: FileSystemDirectoryHandle;

  private constructor(root: FileSystemDirectoryHandle) {
    this.#root = root;
  }

  /** Rejects with `STORAGE_UNAVAILABLE` if the browser has none for this page. */
  static async open(): Promise<StoreFolder> {
    const { storage } = navigator as Partial<Pick<Navigator, 'storage'>>;
    if (!isSecureContext)
      fail('STORAGE_UNAVAILABLE', { why: 'the page does not come from https or localhost' });
    if (!storage || !keepsFiles(storage))
      fail('STORAGE_UNAVAILABLE', { why: 'the browser keeps no files for pages' });
    try {
      let folder = await storage.getDirectory();
      for (const name of PATH) folder = await folder.getDirectoryHandle(name, { create: true });
      return new StoreFolder(folder);
    } catch (cause) {
      return fail('STORAGE_UNAVAILABLE', { why: String(cause) }, cause);
    }
  }

  async ids(): Promise<string[]> {
    const ids: string[] = [];
    for await (const [name, { kind }] of this.#root.entries()) if (kind === 'directory') ids.push(name);
    return ids;
  }

  /** The record of a model; undefined if there is no such model, or no complete record. */
  async record(id: string): Promise<StoreRecord | undefined> {
    return (await this.#records(id))[0]?.record;
  }

  /** Bytes of a model that are stored, complete or not. */
  async storedBytes(id: string): Promise<number> {
    try {
      const folder = await this.#root.getDirectoryHandle(id);
      return (await (await folder.getFileHandle(MODEL)).getFile()).size;
    } catch {
      return 0;
    }
  }

  /** Workers only. If it is interrupted, the previous record remains valid. Rejects with `MODEL_IN_USE`. */
  async writeRecord(id: string, record: StoreRecord): Promise<void> {
    const folder = await this.#root.getDirectoryHandle(id, { create: true });
    const [newest] = await this.#records(id);
    const name = RECORDS.find((other) => other !== newest?.file) ?? RECORDS[0];
    const written: WrittenRecord = { ...record, version: (newest?.record.version ?? 0) + 1 };
    const handle = await folder.getFileHandle(name, { create: true });
    const file = await OpfsFile.open(record.name, handle, 'readwrite');
    try {
      const bytes = new TextEncoder().encode(JSON.stringify(written));
      file.truncate(bytes.length);
      file.write(0, bytes);
      file.flush();
    } finally {
      file.close();
    }
  }

  /** Workers only: the model's bytes. Rejects with `MODEL_IN_USE`. */
  async openModel(id: string, name: string, mode: 'readwrite' | 'read-only'): Promise<ModelFile> {
    const folder = await this.#root.getDirectoryHandle(id, { create: true });
    return ModelFile.open({ id, name }, await folder.getFileHandle(MODEL, { create: true }), mode);
  }

  /** Removes a model with all its bytes; does nothing if it does not exist. Rejects with `MODEL_IN_USE`. */
  async remove(id: string): Promise<void> {
    const name = (await this.record(id))?.name ?? id;
    const lock = await ModelLock.take(id, name, 'exclusive');
    try {
      await this.#root.removeEntry(id, { recursive: true });
    } catch (cause) {
      if (cause instanceof DOMException && cause.name === 'NotFoundError') return;
      fail('MODEL_IN_USE', { model: name }, cause);
    } finally {
      await lock.release();
    }
  }

  /** The complete records, the newest first. */
  async #records(id: string): Promise<{ file: string; record: WrittenRecord }[]> {
    const read = await Promise.all(RECORDS.map((file) => this.#readRecord(id, file)));
    return read
      .flatMap((record, i) => (record ? [{ file: RECORDS[i] as string, record }] : []))
      .sort((a, b) => b.record.version - a.record.version);
  }

  async #readRecord(id: string, name: string): Promise<WrittenRecord | undefined> {
    try {
      const folder = await this.#root.getDirectoryHandle(id);
      const file = await (await folder.getFileHandle(name)).getFile();
      return parseRecord(await file.text());
    } catch {
      return undefined;
    }
  }
}
