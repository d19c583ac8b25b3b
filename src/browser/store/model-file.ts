import type { FileSystemFileHandle } from '../../base/web-types.ts';
import { ModelLock } from './model-lock.ts';
import { OpfsFile } from './opfs-file.ts';

/** How a stored model is named: by its folder, and for people. */
export interface ModelName {
  readonly id: string;
  readonly name: string;
}

/** A stored model's bytes, open with the lock that belongs to it. */
export class ModelFile {
  readonly #model: ModelName;
  readonly #file: OpfsFile;
  #lock: ModelLock | undefined;

  private constructor(model: ModelName, file: OpfsFile, lock: ModelLock) {
    this.#model = model;
    this.#file = file;
    this.#lock = lock;
  }

  /** Rejects with `MODEL_IN_USE`. */
  static async open(
    model: ModelName,
    handle: FileSystemFileHandle,
    mode: 'readwrite' | 'read-only',
  ): Promise<ModelFile> {
    const lock = await ModelLock.take(model.id, model.name, mode === 'readwrite' ? 'exclusive' : 'shared');
    try {
      return new ModelFile(model, await OpfsFile.open(model.name, handle, mode), lock);
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  get size(): number {
    return this.#file.size;
  }

  /** As `OpfsFile.read`. */
  read(offset: number, into: Uint8Array): Promise<void> {
    return this.#file.read(offset, into);
  }

  /** As `OpfsFile.write`. */
  write(offset: number, bytes: Uint8Array): void {
    this.#file.write(offset, bytes);
  }

  truncate(size: number): void {
    this.#file.truncate(size);
  }

  /** Gives up write access, so that others can read too. Reads wait meanwhile. Rejects with `MODEL_IN_USE`. */
  async becomeReadOnly(): Promise<void> {
    await this.#file.becomeReadOnly();
    await this.#release();
    this.#lock = await ModelLock.take(this.#model.id, this.#model.name, 'shared');
  }

  /** Resolves when others can change the model. */
  async close(): Promise<void> {
    this.#file.close();
    await this.#release();
  }

  async #release(): Promise<void> {
    const lock = this.#lock;
    this.#lock = undefined;
    await lock?.release();
  }
}
