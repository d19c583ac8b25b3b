import { StoreFolder } from './store-folder.ts';
import type { StoreRecord } from './store-record.ts';

/** A model that the browser keeps for this page's origin, whole or in part. */
export interface StoredModel {
  readonly id: string;
  /** The file's name. */
  readonly name: string;
  /** Where it came from, undefined for a file of the user's. */
  readonly url: string | undefined;
  /** The whole file's bytes; undefined where they were not told before the download was cut off. */
  readonly size: number | undefined;
  readonly storedBytes: number;
  /** False where a download can be taken up again: by `loadModel` with this model, its address or its file. */
  readonly complete: boolean;
  /** In hexadecimal, of the whole file; there when it is complete. */
  readonly sha256: string | undefined;
  readonly added: Date | undefined;
  readonly used: Date | undefined;
}

/** How much this page's origin may keep. */
export interface StorageQuota {
  readonly usedBytes: number;
  /** What the browser gives at most, as far as it tells. */
  readonly quotaBytes: number | undefined;
  /** False where the browser may remove models by itself when the disk is short. */
  readonly persistent: boolean;
}

/** The models in the browser's origin private file system: listed, with their sizes, and removed. Models come by `loadModel`. */
export class ModelStore {
  readonly #folder: StoreFolder;

  private constructor(folder: StoreFolder) {
    this.#folder = folder;
  }

  /** Rejects with `STORAGE_UNAVAILABLE`. */
  static async open(): Promise<ModelStore> {
    return new ModelStore(await StoreFolder.open());
  }

  /** All models, the one used last first. */
  async list(): Promise<StoredModel[]> {
    const ids = await this.#folder.ids();
    const models = await Promise.all(ids.map((id) => this.#describe(id)));
    return models.sort((a, b) => (b.used?.getTime() ?? 0) - (a.used?.getTime() ?? 0));
  }

  /** Removes a model; nothing where there is none. Rejects with `MODEL_IN_USE`. */
  async remove({ id }: Pick<StoredModel, 'id'>): Promise<void> {
    await this.#folder.remove(id);
  }

  async quota(): Promise<StorageQuota> {
    const { usage = 0, quota } = await navigator.storage.estimate();
    return { usedBytes: usage, quotaBytes: quota, persistent: await navigator.storage.persisted() };
  }

  async #describe(id: string): Promise<StoredModel> {
    const [record, storedBytes] = await Promise.all([this.#folder.record(id), this.#folder.storedBytes(id)]);
    return { id, storedBytes, ...(record ? describeRecord(record) : UNKNOWN(id)) };
  }
}

type Described = Omit<StoredModel, 'id' | 'storedBytes'>;

function describeRecord({ name, url, size, sha256, added, used }: StoreRecord): Described {
  const complete = sha256 !== undefined;
  return { name, url, size, sha256, complete, added: new Date(added), used: new Date(used) };
}

/** What was cut off before anything was known of it. */
const UNKNOWN = (id: string): Described => ({
  name: id,
  url: undefined,
  size: undefined,
  sha256: undefined,
  complete: false,
  added: undefined,
  used: undefined,
});
