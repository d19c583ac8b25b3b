import { fail } from '../base/errors.ts';
import { BlobSource, type ByteSource, HttpRangeSource } from '../io/index.ts';
import { Download, type DownloadOptions } from './store/download.ts';
import { httpOrigin } from './store/http-origin.ts';
import { fileOrigin, type Origin } from './store/origin.ts';
import { StoreFolder } from './store/store-folder.ts';
import { StoredSource } from './store/stored-source.ts';

/** The location of a model, in a form that can be sent to a worker. */
export type SourceLocation =
  | { readonly kind: 'url'; readonly url: string }
  /** The file to open first, and the other parts of a split model. */
  | { readonly kind: 'files'; readonly files: readonly File[] }
  | { readonly kind: 'stored'; readonly id: string };

/** Options for opening sources. */
export interface OpenSourceOptions extends Omit<DownloadOptions, 'signal'> {
  /** Whether the model is kept in the browser's storage. Default true. */
  readonly keep?: boolean | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Opens the sources of one model, and tracks which of them are still downloading. */
export class SourceOpener {
  readonly #location: SourceLocation;
  readonly #options: OpenSourceOptions;
  readonly #downloads: { readonly id: string; readonly source: StoredSource }[] = [];

  constructor(location: SourceLocation, options: OpenSourceOptions) {
    this.#location = location;
    this.#options = options;
  }

  /** The requested source. */
  async first(): Promise<ByteSource> {
    const { sha256 } = this.#options;
    const location = this.#location;
    if (location.kind === 'stored') return this.#openStored(location.id);
    if (location.kind === 'url') return this.#openUrl(location.url, sha256);
    const [file] = location.files;
    return file
      ? this.#openFile(file, sha256)
      : fail('SOURCE_UNAVAILABLE', { source: 'files', reason: 'there is none' });
  }

  /** Another part of a split model: next to the first on its server, or among the files. */
  async sibling(name: string): Promise<ByteSource> {
    if (this.#location.kind !== 'files') return this.#openUrl(name);
    const file = this.#location.files.find((other) => other.name === name);
    return file
      ? this.#openFile(file)
      : fail('SOURCE_UNAVAILABLE', { source: name, reason: 'it is not among the files' });
  }

  /** Resolves when everything that is to be kept is stored and verified. Rejects like `Download.done`. */
  async whole(): Promise<void> {
    await Promise.all(this.#downloads.map(({ source }) => source.whole()));
  }

  /** Removes what was being stored, once its sources are disposed. */
  async discard(): Promise<void> {
    const folder = await StoreFolder.open();
    for (const { id } of this.#downloads) await folder.remove(id);
  }

  async #openUrl(url: string, sha256?: string): Promise<ByteSource> {
    const { keep = true, headers, signal } = this.#options;
    if (keep) return this.#keep(httpOrigin(url, headers), sha256);
    return HttpRangeSource.open(url, { ...(headers && { headers }), ...(signal && { signal }) });
  }

  async #openFile(file: File, sha256?: string): Promise<ByteSource> {
    return this.#options.keep === false ? new BlobSource(file) : this.#keep(fileOrigin(file), sha256);
  }

  async #openStored(id: string): Promise<ByteSource> {
    const folder = await StoreFolder.open();
    const record = await folder.record(id);
    if (!record) return fail('MODEL_NOT_STORED', { model: id, why: 'there is no such model' });
    const { name, url, sha256 } = record;
    if (sha256 !== undefined) return this.#openWhole(folder, id);
    if (url !== undefined) return this.#keep(httpOrigin(url, this.#options.headers), this.#options.sha256);
    return fail('MODEL_NOT_STORED', { model: name, why: 'the file was not copied to its end' });
  }

  /** The stored file if it is complete and the requested one, otherwise a download that continues it. */
  async #keep(origin: Origin, sha256: string | undefined): Promise<ByteSource> {
    const folder = await StoreFolder.open();
    const id = await idOf(origin);
    const record = await folder.record(id);
    const stored = record?.sha256;
    if (stored !== undefined && stored === (sha256?.toLowerCase() ?? stored))
      return this.#openWhole(folder, id);
    const file = await folder.openModel(id, origin.name, 'readwrite');
    const ending = new AbortController();
    const { signal, onProgress } = this.#options;
    const both = signal ? AbortSignal.any([signal, ending.signal]) : ending.signal;
    const target = { id, folder, file, record: stored === undefined ? record : undefined };
    const download = await Download.begin(origin, target, { sha256, onProgress, signal: both });
    const size = await download.size;
    const source = new StoredSource({
      name: origin.name,
      size,
      file,
      download,
      cancel: () => ending.abort(),
    });
    this.#downloads.push({ id, source });
    return source;
  }

  async #openWhole(folder: StoreFolder, id: string): Promise<ByteSource> {
    const record = await folder.record(id);
    const name = record?.url ?? record?.name ?? id;
    const file = await folder.openModel(id, name, 'read-only');
    // Failing to record the time of use is not an error: another page may be writing it too.
    if (record) await folder.writeRecord(id, { ...record, used: Date.now() }).catch(() => {});
    return new StoredSource({ name, size: file.size, file });
  }
}

/** Half of a SHA-256, in hexadecimal, as a folder name. */
async function idOf({ key }: Origin): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key));
  const bytes = new Uint8Array(hash).subarray(0, 16);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
