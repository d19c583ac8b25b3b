import { constants, type FileHandle, open, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { beforeAbort } from '../../base/before-abort.ts';
import { fail, invariant, isRocmforgeError } from '../../base/errors.ts';
import {
  checkSameFile,
  parseRangeResponse,
  type RangeResponse,
  type RemoteIdentity,
} from '../../io/index.ts';
import { type ByteRange, ByteRanges } from './byte-ranges.ts';
import { discardDownload, DownloadJournal } from './download-journal.ts';
import { FileHash, type HashKind } from './file-hash.ts';
import type { HttpAnswer, HttpClient } from './http-client.ts';
import { backOff, refuseStatus, retried, type RetryOptions } from './retry.ts';

/** A file to be downloaded. */
export interface RemoteFile {
  /** For messages. */
  readonly name: string;
  /** The address to ask, which may redirect to a signed one. */
  readonly url: string;
  /** Headers for the server of `url` alone. */
  readonly secrets: Readonly<Record<string, string>>;
  /** What is known ahead: the content must be this. */
  readonly expected?:
    { readonly size: number; readonly hash: { readonly kind: HashKind; readonly hex: string } } | undefined;
  /** Throws what a refusal of the server of `url` means; without it, refusals are `HTTP_STATUS`. */
  readonly refuse?: ((answer: HttpAnswer) => never) | undefined;
}

/** Where an unfinished download is kept. */
export interface DownloadFiles {
  readonly part: string;
  readonly journal: string;
}

/** The state of a download. */
export interface DownloadState {
  readonly phase: 'downloading' | 'checking';
  /** Bytes of the file that are here, or that were hashed. */
  readonly bytes: number;
  /** Undefined if the server does not say. */
  readonly totalBytes: number | undefined;
}

/** How a download is carried out. */
export interface DownloadOptions extends RetryOptions {
  readonly client: HttpClient;
  /** Connections at once. */
  readonly connections: number;
  /** Called before every write: throws if this process may no longer write. */
  readonly check: () => void;
  readonly onState: (state: DownloadState) => void;
}

/** A file that was downloaded whole and checked. */
export interface Downloaded {
  readonly size: number;
  readonly hex: string;
}

/** Bytes of one request: few enough to share the work among connections, many enough to hide a request's delay. */
const SEGMENT_BYTES = 32 << 20;
/** Bytes of one write. */
const WRITE_BYTES = 1 << 20;
/** After so many bytes they are synced to disk and noted. */
const SYNC_BYTES = 64 << 20;
/** After so many milliseconds as well. */
const SYNC_MS = 250;
/** Kept free on the disk. */
const SPARE_BYTES = 64 << 20;
/** A signed address may expire; its server then refuses, and the first server is asked for another. */
const EXPIRED = new Set([400, 401, 403, 404, 410]);

/**
 * Downloads a file in ranges over several connections into `files.part`, continuing what an earlier call left there, and checks
 * its hash. When it fails or is aborted, everything that arrived is on disk and noted. Rejects with `SOURCE_CHANGED`,
 * `HASH_MISMATCH` (both discard what was there), `DISK_FULL`, `WRITE_FAILED`, `ABORTED`, and errors of HTTP.
 */
export async function downloadFile(
  file: RemoteFile,
  files: DownloadFiles,
  options: DownloadOptions,
): Promise<Downloaded> {
  await using download = new Download(file, files, options);
  try {
    return await download.run();
  } catch (error) {
    const isOther = isRocmforgeError(error, 'SOURCE_CHANGED') || isRocmforgeError(error, 'HASH_MISMATCH');
    if (isOther) await discardDownload(files);
    throw error;
  }
}

/** Bytes that are asked for, and the answer. */
interface Asked {
  readonly range: ByteRange;
  readonly answer: HttpAnswer;
}

class Download implements AsyncDisposable {
  readonly #file: RemoteFile;
  readonly #files: DownloadFiles;
  readonly #options: DownloadOptions;
  /** Ends the other connections when one fails for good. */
  readonly #ending = new AbortController();
  readonly #signal: AbortSignal;
  /** What is in the file, and what is in it or on its way. */
  #written = new ByteRanges();
  #claimed = new ByteRanges();
  /** Written since the last sync. */
  #unsynced = new ByteRanges();
  #unsyncedBytes = 0;
  #syncedAt = performance.now();
  #syncing: Promise<void> = Promise.resolve();
  #size: number | undefined;
  /** What the server said of the file with its first answer. */
  #identity: RemoteIdentity | undefined;
  #journal: DownloadJournal | undefined;
  #part: FileHandle | undefined;
  #hash: FileHash | undefined;
  /** Where the redirects ended. */
  #resolved: string | undefined;
  /** All bytes received: tells whether there was progress between two failures. */
  #received = 0;

  constructor(file: RemoteFile, files: DownloadFiles, options: DownloadOptions) {
    this.#file = file;
    this.#files = files;
    this.#options = options;
    this.#signal = AbortSignal.any([options.signal, this.#ending.signal]);
  }

  async run(): Promise<Downloaded> {
    const first = await this.#firstAnswer();
    if (first?.answer.status === 200) await this.#receiveWhole(first.answer);
    else if (first) await this.#receiveRanges(first);
    return this.#finish();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#hash?.[Symbol.asyncDispose]();
    // What has arrived stays: the next call continues here. A disk that fails has said so already.
    await this.#sync().catch(() => {});
    await this.#journal?.close();
    await this.#part?.close();
  }

  /** The first answer says what the server can do. Undefined if all bytes are here already. */
  async #firstAnswer(): Promise<Asked | undefined> {
    const { expected } = this.#file;
    if (!expected) {
      // Which bytes are missing is known once the server has said which version it has.
      const probe = await this.#asking([0, 1]);
      if (probe.status === 200) return { range: [0, 1], answer: probe };
      await this.#options.client.textOf(probe, this.#signal);
      this.#identity = this.#rangeOf(probe).identity;
    }
    const known = expected ? { size: expected.size, validator: expected.hash.hex } : this.#identity;
    invariant(known, 'the server has identified the file');
    await this.#begin(known);
    const range = this.#claimNext();
    return range && { range, answer: await this.#asking(range) };
  }

  /** Opens the files, once it is known what is downloaded. */
  async #begin({ size, validator }: RemoteIdentity): Promise<void> {
    const { part, journal } = this.#files;
    this.#size = size;
    try {
      this.#part = await openPart(part);
      // Without anything that tells versions apart, nothing can be continued.
      const version = validator ?? `unknown since ${Date.now()}`;
      this.#journal = await DownloadJournal.open(journal, { size, version });
      this.#journal.synced.remove((await this.#part.stat()).size, Number.MAX_SAFE_INTEGER);
    } catch (cause) {
      fail('WRITE_FAILED', { path: part, reason: reasonOf(cause) }, cause);
    }
    this.#written = new ByteRanges(this.#journal.synced);
    this.#claimed = new ByteRanges(this.#journal.synced);
    await requireRoom(part, size - this.#written.bytes);
    this.#hash = this.#newHash();
    this.#hash.grew(this.#written.prefix);
    this.#report();
  }

  #newHash(): FileHash {
    const kind = this.#file.expected?.hash.kind ?? 'sha256';
    const request = { path: this.#files.part, kind, size: this.#size };
    return new FileHash(request, (bytes) => {
      const isWhole = this.#written.bytes === this.#size;
      if (isWhole) this.#options.onState({ phase: 'checking', bytes, totalBytes: this.#size });
    });
  }

  async #receiveRanges(first: Asked): Promise<void> {
    const connections = Array.from({ length: this.#options.connections }, (_, i) =>
      this.#connection(i === 0 ? first : undefined),
    );
    try {
      await Promise.all(connections);
    } catch (error) {
      this.#ending.abort();
      await Promise.allSettled(connections);
      throw error;
    }
  }

  /** Fetches missing ranges one after another until there are none. */
  async #connection(first?: Asked): Promise<void> {
    let failures = 0;
    let range = first ? first.range : this.#claimNext();
    let answer = first?.answer;
    while (range) {
      const before = this.#received;
      try {
        await this.#receive(range, answer ?? (await this.#ask(range)));
      } catch (error) {
        this.#release(range);
        failures = this.#received > before ? 1 : failures + 1;
        await backOff(error, failures, this.#retries());
      }
      answer = undefined;
      range = this.#claimNext();
    }
  }

  #claimNext(): ByteRange | undefined {
    const range = this.#claimed.firstGap(this.#size ?? 0, SEGMENT_BYTES);
    if (range) this.#claimed.add(...range);
    return range;
  }

  /** What did not arrive is free for others. */
  #release([start, end]: ByteRange): void {
    this.#claimed.remove(start, end);
    for (const [from, to] of this.#written) this.#claimed.add(Math.max(start, from), Math.min(end, to));
  }

  async #receive(range: ByteRange, answer: HttpAnswer): Promise<void> {
    const source = this.#file.name;
    const [start, end] = range;
    if (answer.status !== 206) {
      answer.body.destroy();
      fail('HTTP_NO_RANGES', { source, found: `status ${answer.status}` });
    }
    const found = this.#rangeOf(answer);
    this.#checkIdentity(answer, found.identity);
    if (found.start !== start || found.start + found.length > end) {
      answer.body.destroy();
      fail('HTTP_NO_RANGES', { source, found: `a range from ${found.start}, asked for ${start}` });
    }
    const at = await this.#store(answer, start, end);
    if (at < end) fail('READ_SHORT', { source, offset: start, length: end - start, found: at - start });
  }

  /** Writes a body from `start` on. Returns where it ended; what arrived before a failure is written as well. */
  async #store(answer: HttpAnswer, start: number, end: number): Promise<number> {
    const buffers = [Buffer.allocUnsafeSlow(WRITE_BYTES), Buffer.allocUnsafeSlow(WRITE_BYTES)] as const;
    let turn: 0 | 1 = 0;
    let filled = 0;
    let position = start;
    let writing: Promise<void> = Promise.resolve();
    const flush = async () => {
      await writing;
      writing = this.#write(buffers[turn].subarray(0, filled), position);
      writing.catch(() => {});
      position += filled;
      filled = 0;
      turn = turn === 0 ? 1 : 0;
    };
    try {
      for await (const chunk of this.#options.client.chunksOf(answer, this.#signal)) {
        this.#received += chunk.length;
        if (position + filled + chunk.length > end) {
          fail('HTTP_NO_RANGES', { source: this.#file.name, found: 'more bytes than the range has' });
        }
        for (let taken = 0; taken < chunk.length;) {
          const count = chunk.copy(buffers[turn], filled, taken);
          taken += count;
          filled += count;
          if (filled === WRITE_BYTES) await flush();
        }
      }
    } finally {
      if (filled > 0) await flush();
      await writing;
    }
    return position;
  }

  async #write(bytes: Uint8Array, position: number): Promise<void> {
    const path = this.#files.part;
    this.#options.check();
    try {
      await this.#part?.write(bytes, 0, bytes.length, position);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ENOSPC') {
        fail('DISK_FULL', { path, bytes: bytes.length, free: 0 }, cause);
      }
      fail('WRITE_FAILED', { path, reason: reasonOf(cause) }, cause);
    }
    const end = position + bytes.length;
    this.#written.add(position, end);
    this.#unsynced.add(position, end);
    this.#unsyncedBytes += bytes.length;
    this.#hash?.grew(this.#written.prefix);
    this.#report();
    if (this.#unsyncedBytes < SYNC_BYTES && performance.now() - this.#syncedAt < SYNC_MS) return;
    // Received bytes do not run far ahead of the disk.
    await this.#syncing;
    this.#syncing = this.#sync();
    this.#syncing.catch(() => {});
  }

  /** Brings what was written to disk, and then notes it. */
  async #sync(): Promise<void> {
    if (!this.#journal || this.#unsyncedBytes === 0) return;
    const ranges = this.#unsynced;
    this.#unsynced = new ByteRanges();
    this.#unsyncedBytes = 0;
    this.#syncedAt = performance.now();
    try {
      await this.#part?.datasync();
      await this.#journal.append(ranges);
    } catch (cause) {
      fail('WRITE_FAILED', { path: this.#files.part, reason: reasonOf(cause) }, cause);
    }
  }

  /** A server without ranges sends the file from its beginning each time; nothing of it can be continued. */
  async #receiveWhole(first: HttpAnswer): Promise<void> {
    const { part, journal } = this.#files;
    await this.#journal?.close();
    this.#journal = undefined;
    await discardDownload({ part, journal });
    await this.#part?.close();
    this.#part = await openPart(part).catch((cause: unknown) =>
      fail('WRITE_FAILED', { path: part, reason: reasonOf(cause) }, cause),
    );
    let answer: HttpAnswer | undefined = first;
    for (let failures = 1; ; failures++) {
      try {
        return await this.#receiveFromStart(answer ?? (await this.#ask([0, Number.MAX_SAFE_INTEGER])));
      } catch (error) {
        await backOff(error, failures, this.#retries());
      }
      answer = undefined;
    }
  }

  async #receiveFromStart(answer: HttpAnswer): Promise<void> {
    const source = this.#file.name;
    const told = /^\d+$/.exec(answer.headers['content-length'] ?? '')?.[0];
    const size = this.#file.expected?.size ?? (told === undefined ? undefined : Number(told));
    if (answer.status !== 200 || (told !== undefined && Number(told) !== size)) {
      answer.body.destroy();
      fail('SOURCE_CHANGED', { source, what: 'its size', found: `${told}`, expected: `${size}` });
    }
    this.#size = size;
    this.#written = new ByteRanges();
    await this.#hash?.[Symbol.asyncDispose]();
    await this.#part?.truncate(0);
    if (size !== undefined) await requireRoom(this.#files.part, size);
    this.#hash = this.#newHash();
    const end = await this.#store(answer, 0, size ?? Number.MAX_SAFE_INTEGER);
    if (size !== undefined && end < size) fail('READ_SHORT', { source, offset: 0, length: size, found: end });
    this.#size = end;
  }

  async #finish(): Promise<Downloaded> {
    const size = this.#size ?? 0;
    const source = this.#file.name;
    await this.#syncing;
    await this.#sync();
    await this.#part?.sync();
    invariant(this.#hash, 'a file that arrived is being hashed');
    const hex = await beforeAbort(this.#hash.finish(size), this.#options.signal, `checking ${source}`);
    const expected = this.#file.expected?.hash.hex;
    if (expected !== undefined && hex !== expected) fail('HASH_MISMATCH', { source, found: hex, expected });
    return { size, hex };
  }

  #retries(): RetryOptions {
    return { ...this.#options, signal: this.#signal };
  }

  /** Asks patiently. */
  async #asking(range: ByteRange): Promise<HttpAnswer> {
    return retried(() => this.#ask(range), this.#retries());
  }

  /** Asks for a range where the redirects ended the last time; from the beginning if that address has expired. */
  async #ask([start, end]: ByteRange): Promise<HttpAnswer> {
    const { client } = this.#options;
    const { url, secrets, refuse, name } = this.#file;
    const headers = {
      range: end === Number.MAX_SAFE_INTEGER ? `bytes=${start}-` : `bytes=${start}-${end - 1}`,
    };
    if (this.#resolved !== undefined) {
      const answer = await client.get(this.#resolved, { headers, signal: this.#signal });
      if (!EXPIRED.has(answer.status)) return this.#usable(answer);
      answer.body.resume();
      this.#resolved = undefined;
    }
    const answer = await client.get(url, { headers, secrets, signal: this.#signal });
    const isElsewhere = new URL(answer.url).origin !== new URL(url).origin;
    if (refuse && !isElsewhere && [401, 403, 404].includes(answer.status)) refuse(answer);
    const usable = this.#usable(answer);
    this.#checkLinked(answer);
    if (isElsewhere) {
      this.#resolved = answer.url;
      // Other stores may tell the same content apart by other means; the hash decides.
      if (this.#file.expected) this.#identity = undefined;
    }
    if (answer.status === 206 && answer.headers['content-encoding'] !== undefined) {
      answer.body.destroy();
      fail('HTTP_NO_RANGES', { source: name, found: 'a compressed range' });
    }
    return usable;
  }

  #usable(answer: HttpAnswer): HttpAnswer {
    const source = this.#file.name;
    if (answer.status === 206 || answer.status === 200) return answer;
    if (answer.status === 416 && this.#size !== undefined) {
      answer.body.resume();
      const found = answer.headers['content-range'] ?? 'shorter';
      fail('SOURCE_CHANGED', { source, what: 'its size', found, expected: `${this.#size}` });
    }
    return refuseStatus(answer, 206);
  }

  /** The hub says with its redirect which content the storage will send. */
  #checkLinked({ redirect }: HttpAnswer): void {
    const linked = redirect?.['x-linked-etag'];
    const expected = this.#file.expected?.hash.hex;
    const found = typeof linked === 'string' ? linked.replace(/^(?:W\/)?"|"$/g, '') : undefined;
    if (expected === undefined || found === undefined || found === expected) return;
    fail('SOURCE_CHANGED', { source: this.#file.name, what: 'its hash', found, expected });
  }

  #checkIdentity(answer: HttpAnswer, found: RemoteIdentity): void {
    const size = this.#size ?? found.size;
    this.#identity ??= { size, validator: found.validator };
    try {
      checkSameFile(this.#file.name, found, this.#identity);
    } catch (error) {
      answer.body.destroy();
      throw error;
    }
  }

  #rangeOf(answer: HttpAnswer): RangeResponse {
    const headers = new Headers();
    for (const name of ['content-range', 'etag', 'last-modified']) {
      const value = answer.headers[name];
      if (typeof value === 'string') headers.set(name, value);
    }
    try {
      return parseRangeResponse(this.#file.name, new Response(null, { status: 206, headers }));
    } catch (error) {
      answer.body.destroy();
      throw error;
    }
  }

  #report(): void {
    const { onState } = this.#options;
    onState({ phase: 'downloading', bytes: this.#written.bytes, totalBytes: this.#size });
  }
}

/** Throws `DISK_FULL` unless the folder's disk has room for so many bytes. */
async function requireRoom(path: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(path));
  const free = Math.max(0, bavail * bsize - SPARE_BYTES);
  if (bytes > free) fail('DISK_FULL', { path, bytes, free });
}

/** Opens a file for reading and writing; creates it. */
async function openPart(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDWR | constants.O_CREAT, 0o666);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
