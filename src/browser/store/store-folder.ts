import { fail } from '../../base/errors.ts';
import { OpfsFile } from './opfs-file.ts';
import { parseRecord, type StoreRecord } from './store-record.ts';

/** Where models lie in the origin private file system: a folder each, with the file and what is known of it. */
const PATH = ['rocmforge', 'models'];
const MODEL = 'model.gguf';
const RECORD = 'model.json';

/** A browser's folder of stored models, by id. */
export class StoreFolder {
  readonly #root: FileSystemDirectoryHandle;

  private constructor(root: FileSystemDirectoryHandle) {
    this.#root = root;
  }

  /** Rejects with `STORAGE_UNAVAILABLE` where the browser has none for this page. */
  static async open(): Promise<StoreFolder> {
    const { storage } = navigator as Partial<Pick<Navigator, 'storage'>>;
    if (!storage) fail('STORAGE_UNAVAILABLE', { why: 'the page does not come from https or localhost' });
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

  /** What is known of a model; undefined where there is none of that id, or its record is damaged. */
  async record(id: string): Promise<StoreRecord | undefined> {
    try {
      const folder = await this.#root.getDirectoryHandle(id);
      const file = await (await folder.getFileHandle(RECORD)).getFile();
      return parseRecord(await file.text());
    } catch {
      return undefined;
    }
  }

  /** Bytes of a model that are stored, whole or not. */
  async storedBytes(id: string): Promise<number> {
    try {
      const folder = await this.#root.getDirectoryHandle(id);
      return (await (await folder.getFileHandle(MODEL)).getFile()).size;
    } catch {
      return 0;
    }
  }

  /** Workers only. Rejects with `MODEL_IN_USE`. */
  async writeRecord(id: string, record: StoreRecord): Promise<void> {
    const folder = await this.#root.getDirectoryHandle(id, { create: true });
    const file = await OpfsFile.open(
      record.name,
      await folder.getFileHandle(RECORD, { create: true }),
      'readwrite',
    );
    try {
      const bytes = new TextEncoder().encode(JSON.stringify(record));
      file.truncate(bytes.length);
      file.write(0, bytes);
      file.flush();
    } finally {
      file.close();
    }
  }

  /** Workers only: the model's bytes. Rejects with `MODEL_IN_USE`. */
  async openModel(id: string, name: string, mode: 'readwrite' | 'read-only'): Promise<OpfsFile> {
    const folder = await this.#root.getDirectoryHandle(id, { create: true });
    return OpfsFile.open(name, await folder.getFileHandle(MODEL, { create: true }), mode);
  }

  /** Removes a model with all its bytes; nothing where there is none. Rejects with `MODEL_IN_USE`. */
  async remove(id: string): Promise<void> {
    try {
      await this.#root.removeEntry(id, { recursive: true });
    } catch (cause) {
      if (cause instanceof DOMException && cause.name === 'NotFoundError') return;
      fail('MODEL_IN_USE', { model: (await this.record(id))?.name ?? id }, cause);
    }
  }
}
