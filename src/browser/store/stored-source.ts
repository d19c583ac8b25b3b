import { throwIfAborted } from '../../base/errors.ts';
import { CheckedSource } from '../../io/index.ts';
import type { Download } from './download.ts';
import type { ModelFile } from './model-file.ts';

/** The data that a stored source reads from. */
export interface StoredFile {
  readonly name: string;
  readonly size: number;
  readonly file: ModelFile;
  /** Set while the download is in progress; reads then wait for their bytes. */
  readonly download?: Download;
  /** Cancels a download that is no longer needed. */
  readonly cancel?: () => void;
}

/** A model in the browser's storage, complete or downloading. */
export class StoredSource extends CheckedSource {
  readonly #stored: StoredFile;
  #pending: Promise<void> | undefined;

  constructor(stored: StoredFile) {
    super(stored.name, stored.size);
    this.#stored = stored;
    this.#pending = stored.download?.done.then(() => {
      this.#pending = undefined;
    });
    this.#pending?.catch(() => {});
  }

  /** Resolves when all bytes are stored and have the expected hash. */
  async whole(): Promise<void> {
    await this.#pending;
  }

  protected async fill(offset: number, into: Uint8Array, signal?: AbortSignal): Promise<void> {
    await this.#stored.download?.reached(offset + into.byteLength);
    throwIfAborted(signal, `reading ${this.name}`);
    await this.#stored.file.read(offset, into);
  }

  protected async release(): Promise<void> {
    if (!this.#pending) return this.#stored.file.close();
    this.#stored.cancel?.();
    // The download closes a file that it could not finish.
    const finished = await this.#pending.then(
      () => true,
      () => false,
    );
    if (finished) await this.#stored.file.close();
  }
}
