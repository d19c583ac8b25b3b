import { StoreFolder } from './store-folder.ts';
import type { StoreRecord } from './store-record.ts';

/** A model in the browser's storage for this page's origin, complete or partial. */
export interface StoredModel {
  readonly id: string;
  /** The file's name. */
  readonly name: string;
  /** Its URL; undefined for a file of the user's. */
  readonly url: string | undefined;
  /** Size of the whole file in bytes; undefined if it was not known before the download was interrupted. */
  readonly size: number | undefined;
  readonly storedBytes: number;
  /** False if the download can be resumed: by `loadModel` with this model, its URL or its file. */
  readonly complete: boolean;
  /** The hash of the whole file in hexadecimal, present if it is complete. */
  readonly sha256: string | undefined;
  readonly added: Date | undefined;
  readonly used: Date | undefined;
}

/** How much this page's origin may store. */
export interface StorageQuota {
  readonly usedBytes: number;
  /** The maximum that the browser allows, if it reports one. */
  readonly quotaBytes: number | undefined;
  /** False if the browser may remove models on its own when disk space is low. */
  readonly persistent: boolean;
}

/**
 * The models in the browser's origin private file system: lists them with their sizes, and removes them. `loadModel`
 * adds them.
 */
export class ModelStore {
  readonly #folder: StoreFolder;

  private constructor(folder: StoreFolder) {
    this.#folder = folder;
  }

  /** Rejects with `STORAGE_UNAVAILABLE`. */
  static async open(): Promise<ModelStore> {
    return new ModelStore(await StoreFolder.open());
  }

  /** All models, the most recently used first. */
  async list(): Promise<StoredModel[]> {
    const ids = await this.#folder.ids();
    const models = await Promise.all(ids.map((id) => this.#describe(id)));
    return models.sort((a, b) => (b.used?.getTime() ?? 0) - (a.used?.getTime() ?? 0));
  }

  /** Removes a model; does nothing if it does not exist. Rejects with `MODEL_IN_USE`. */
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

/** A download that was interrupted before anything was known about it. */
const UNKNOWN = (id: string): Described => ({
  name: id,
  url: undefined,
  size: undefined,
  sha256: undefined,
  complete: false,
  added: undefined,
  used: undefined,
});
