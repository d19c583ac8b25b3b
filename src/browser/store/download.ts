import { createSHA256, type IHasher } from 'hash-wasm';
import { fail, isRocmforgeError, throwIfAborted } from '../../base/errors.ts';
import { checkSameFile, type RemoteIdentity } from '../../io/index.ts';
import { DownloadMeter, type DownloadProgress } from './download-progress.ts';
import type { ModelFile } from './model-file.ts';
import type { Feed, Origin } from './origin.ts';
import type { StoreFolder } from './store-folder.ts';
import type { StoreRecord } from './store-record.ts';

/** How a download is monitored, verified and cancelled. */
export interface DownloadOptions {
  /** The expected hash of the whole file, in hexadecimal. */
  readonly sha256?: string | undefined;
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined;
  readonly signal: AbortSignal;
}

/** The destination of a download, and what an earlier one left there. */
export interface DownloadTarget {
  readonly id: string;
  readonly folder: StoreFolder;
  readonly file: ModelFile;
  readonly record: StoreRecord | undefined;
}

/** Delays in milliseconds before retrying after attempts without any data. Received data resets the sequence. */
const RETRY_DELAYS = [250, 1000, 3000, 8000];

/** Bytes of existing data hashed at a time. */
const HASH_PIECE = 4 << 20;

const HTTP_TOO_MANY = 429;
const HTTP_SERVER = 500;

interface Waiter {
  readonly end: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A download into the store: written in order, hashed while it is written, continued where an earlier download of the
 * same version ended, and resumed when the connection breaks. Bytes can be read as soon as they have arrived.
 */
export class Download {
  /** Resolves with the size of the whole file as soon as it is known. */
  readonly size: Promise<number>;
  /** Resolves when the file is complete, verified and reopened for reading only. */
  readonly done: Promise<void>;
  readonly #origin: Origin;
  readonly #target: DownloadTarget;
  readonly #options: DownloadOptions;
  readonly #hasher: IHasher;
  readonly #meter: DownloadMeter;
  readonly #waiters = new Set<Waiter>();
  #tellSize: (size: number) => void = () => {};
  #identity: RemoteIdentity | undefined;
  #connected = false;
  #failed = false;
  #failure: unknown;
  #bytes = 0;

  private constructor(
    origin: Origin,
    target: DownloadTarget,
    options: DownloadOptions & { hasher: IHasher },
  ) {
    this.#origin = origin;
    this.#target = target;
    this.#options = options;
    this.#hasher = options.hasher;
    this.#hasher.init();
    this.#meter = new DownloadMeter(options.onProgress);
    this.done = this.#run();
    const told = new Promise<number>((resolve) => {
      this.#tellSize = resolve;
    });
    this.size = Promise.race([told, this.done.then(() => this.#bytes)]);
    this.size.catch(() => {});
    this.done.catch((error: unknown) => {
      this.#failed = true;
      this.#failure = error;
      for (const waiter of this.#waiters) waiter.reject(error);
    });
  }

  /** Starts a download, which owns the target's file until `done` settles. */
  static async begin(origin: Origin, target: DownloadTarget, options: DownloadOptions): Promise<Download> {
    return new Download(origin, target, { ...options, hasher: await createSHA256() });
  }

  /** Resolves when all bytes before `end` are in the file. Rejects like `done`. */
  async reached(end: number): Promise<void> {
    if (this.#failed) throw this.#failure;
    if (this.#bytes >= end) return;
    await new Promise<void>((resolve, reject) => {
      this.#waiters.add({ end, resolve, reject });
    });
  }

  async #run(): Promise<void> {
    // Nothing is reported before the constructor has finished.
    await Promise.resolve();
    const { signal } = this.#options;
    try {
      await this.#receiveAll();
      await this.#finish();
    } catch (error) {
      await this.#target.file.close();
      throwIfAborted(signal, `downloading ${this.#origin.name}`);
      if (isRocmforgeError(error, 'HASH_MISMATCH')) await this.#discard();
      throw error;
    }
  }

  /**
   * If removal fails, what remains is not taken for a model: its record has no hash, and resuming it checks every byte.
   */
  async #discard(): Promise<void> {
    const { folder, id } = this.#target;
    await folder.remove(id).catch(() => {});
  }

  async #receiveAll(): Promise<void> {
    const { signal } = this.#options;
    for (let idle = 0; ;) {
      const before = this.#bytes;
      try {
        return await this.#receive(await this.#connect());
      } catch (error) {
        idle = this.#bytes > before ? 0 : idle + 1;
        const delay = RETRY_DELAYS[idle];
        if (signal.aborted || delay === undefined || !this.#connected || !mayPass(error)) throw error;
        await pause(delay, signal);
      }
    }
  }

  /** Opens a feed that continues at the end of the file. */
  async #connect(): Promise<Feed> {
    if (this.#connected) return this.#origin.open(this.#bytes, this.#options.signal);
    const { file, record } = this.#target;
    // At least one byte is requested, because servers reject a range that starts at the end.
    const kept = record ? Math.max(0, Math.min(file.size, record.size - 1)) : 0;
    let feed = await this.#origin.open(kept, this.#options.signal);
    const same = record && feed.size === record.size && feed.validator === record.validator;
    if (same) await this.#checkKept(kept, record.size);
    else if (feed.start > 0) {
      await feed.body.cancel();
      feed = await this.#origin.open(0, this.#options.signal);
    }
    file.truncate(this.#bytes);
    this.#connected = true;
    return feed;
  }

  /** Data of an earlier download is hashed from the file itself, and so verified too. */
  async #checkKept(end: number, total: number): Promise<void> {
    const piece = new Uint8Array(Math.min(HASH_PIECE, end));
    while (this.#bytes < end) {
      const part = piece.subarray(0, Math.min(piece.length, end - this.#bytes));
      await this.#target.file.read(this.#bytes, part);
      this.#hasher.update(part);
      this.#bytes += part.length;
      this.#meter.report({ phase: 'checking', bytes: this.#bytes, totalBytes: total });
      throwIfAborted(this.#options.signal, `downloading ${this.#origin.name}`);
    }
  }

  async #receive({ start, size, validator, body }: Feed): Promise<void> {
    const source = this.#origin.name;
    const reader = body.getReader();
    try {
      await this.#identify(size, validator);
      if (start > this.#bytes) fail('READ_SHORT', { source, offset: this.#bytes, length: start, found: 0 });
      // A server without ranges starts from the beginning; data that is already stored is skipped.
      let skip = this.#bytes - start;
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        this.#append(value.subarray(Math.min(skip, value.length)));
        skip -= Math.min(skip, value.length);
      }
    } catch (error) {
      await reader.cancel().catch(() => {});
      if (isRocmforgeError(error)) throw error;
      const length = (size ?? this.#bytes) - this.#bytes;
      fail('READ_FAILED', { source, offset: this.#bytes, length, reason: String(error) }, error);
    }
    if (size !== undefined && this.#bytes !== size) {
      fail('READ_SHORT', { source, offset: 0, length: size, found: this.#bytes });
    }
  }

  /** Checks that all feeds are of one version, and reports what the first one tells. */
  async #identify(size: number | undefined, validator: string | undefined): Promise<void> {
    if (size === undefined) return;
    const found = { size, validator };
    if (this.#identity) return checkSameFile(this.#origin.name, found, this.#identity);
    this.#identity = found;
    await this.#requireRoom(size - this.#bytes);
    await this.#writeRecord(found);
    this.#tellSize(size);
  }

  async #requireRoom(bytes: number): Promise<void> {
    const { quota, usage = 0 } = await navigator.storage.estimate();
    if (quota === undefined || bytes <= quota - usage) return;
    fail('STORAGE_FULL', { model: this.#origin.name, bytes, free: Math.max(0, quota - usage) });
  }

  #append(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    try {
      this.#target.file.write(this.#bytes, bytes);
    } catch (cause) {
      const { name: model } = this.#origin;
      const isFull = cause instanceof DOMException && cause.name === 'QuotaExceededError';
      if (isFull) fail('STORAGE_FULL', { model, bytes: bytes.length, free: 0 }, cause);
      fail('WRITE_FAILED', { path: model, reason: String(cause) }, cause);
    }
    this.#hasher.update(bytes);
    this.#bytes += bytes.length;
    for (const waiter of this.#waiters) {
      if (waiter.end > this.#bytes) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
    const totalBytes = this.#identity?.size;
    this.#meter.report({ phase: 'downloading', bytes: this.#bytes, totalBytes }, bytes.length);
  }

  async #finish(): Promise<void> {
    const found = this.#hasher.digest('hex');
    const expected = this.#options.sha256?.toLowerCase();
    const source = this.#origin.name;
    if (expected !== undefined && found !== expected) fail('HASH_MISMATCH', { source, found, expected });
    await this.#target.file.becomeReadOnly();
    const { validator } = this.#identity ?? { validator: undefined };
    await this.#writeRecord({ size: this.#bytes, validator, sha256: found });
  }

  async #writeRecord(known: RemoteIdentity & { readonly sha256?: string }): Promise<void> {
    const { id, folder, record } = this.#target;
    const { fileName, url } = this.#origin;
    const now = Date.now();
    await folder.writeRecord(id, {
      name: fileName,
      url,
      added: record?.added ?? now,
      used: now,
      ...known,
    });
  }
}

/** Whether retrying may help: the connection broke, or the server has a temporary problem. */
function mayPass(error: unknown): boolean {
  if (isRocmforgeError(error, 'HTTP_STATUS')) {
    return error.params.found >= HTTP_SERVER || error.params.found === HTTP_TOO_MANY;
  }
  return ['READ_FAILED', 'READ_SHORT', 'SOURCE_UNAVAILABLE'].some(
    (code) => isRocmforgeError(error) && error.code === code,
  );
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    setTimeout(() => {
      signal.removeEventListener('abort', abort);
      resolve();
    }, milliseconds);
  });
}
