import { beforeAbort } from '../base/before-abort.ts';
import { fail, isRocmforgeError, throwIfAborted } from '../base/errors.ts';
import { CheckedSource } from './checked-source.ts';
import {
  checkSameFile,
  parseRangeResponse,
  type RangeResponse,
  type RemoteIdentity,
  readBodyInto,
} from './http-range-response.ts';

/** Reads smaller than this are served from blocks of this size, so that parsing a header costs a few requests. */
const DEFAULT_BLOCK_BYTES = 256 << 10;

/** Maximum cached blocks; the least recently used one is evicted. */
const KEPT_BLOCKS = 16;

/** Options of a remote file. */
export interface HttpRangeOptions {
  /** The function that sends requests; the global `fetch` where none is given. */
  readonly fetch?: typeof globalThis.fetch;
  /** Headers of every request, such as an authorization. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes of one block of the small-read cache. */
  readonly blockBytes?: number;
  /** Cancels the opening. */
  readonly signal?: AbortSignal;
}

interface Remote {
  readonly url: string;
  readonly fetch: typeof globalThis.fetch;
  readonly headers: Readonly<Record<string, string>>;
  readonly blockBytes: number;
}

/**
 * A remote file on a server that answers Range requests. Nothing is downloaded but the ranges that are read (small reads
 * rounded to blocks). Every answer must come from the version that was opened.
 */
export class HttpRangeSource extends CheckedSource {
  readonly #remote: Remote;
  readonly #identity: RemoteIdentity;
  readonly #blocks = new Map<number, Promise<Uint8Array>>();
  readonly #closed = new AbortController();

  private constructor(remote: Remote, identity: RemoteIdentity, firstBlock: Uint8Array) {
    super(remote.url, identity.size);
    this.#remote = remote;
    this.#identity = identity;
    this.#blocks.set(0, Promise.resolve(firstBlock));
  }

  /**
   * Asks for the first block and learns the size from the answer. Rejects with `HTTP_NO_RANGES`, `HTTP_STATUS`,
   * `SOURCE_UNAVAILABLE`.
   */
  static async open(url: string, options: HttpRangeOptions = {}): Promise<HttpRangeSource> {
    const remote: Remote = {
      url,
      fetch: options.fetch ?? globalThis.fetch,
      headers: options.headers ?? {},
      blockBytes: options.blockBytes ?? DEFAULT_BLOCK_BYTES,
    };
    throwIfAborted(options.signal, `opening ${url}`);
    try {
      const response = await request(remote, 0, remote.blockBytes, options.signal);
      const range = await parsedOrCancelled(url, response);
      const block = await readFirstBlock(remote, response, range);
      return new HttpRangeSource(remote, range.identity, block);
    } catch (cause) {
      throwIfAborted(options.signal, `opening ${url}`);
      if (isRocmforgeError(cause)) throw cause;
      return fail('SOURCE_UNAVAILABLE', { source: url, reason: reasonOf(cause) }, cause);
    }
  }

  protected async fill(offset: number, into: Uint8Array, signal?: AbortSignal): Promise<void> {
    const { blockBytes } = this.#remote;
    if (into.byteLength >= blockBytes) return this.#download(offset, into, signal);
    const end = offset + into.byteLength;
    for (let index = Math.floor(offset / blockBytes); index * blockBytes < end; index++) {
      const start = index * blockBytes;
      const block = await beforeAbort(this.#block(index), signal, `reading ${this.name}`);
      const from = Math.max(offset, start);
      into.set(block.subarray(from - start, Math.min(end - start, blockBytes)), from - offset);
    }
  }

  protected async release(): Promise<void> {
    this.#closed.abort();
    this.#blocks.clear();
  }

  /** One download a block however many ask; it belongs to the source, so one reader's abort does not fail another's. */
  #block(index: number): Promise<Uint8Array> {
    const known = this.#blocks.get(index);
    this.#blocks.delete(index);
    const block = known ?? this.#downloadBlock(index);
    this.#blocks.set(index, block);
    for (const oldest of this.#blocks.keys()) {
      if (this.#blocks.size <= KEPT_BLOCKS) break;
      this.#blocks.delete(oldest);
    }
    return block;
  }

  async #downloadBlock(index: number): Promise<Uint8Array> {
    const start = index * this.#remote.blockBytes;
    const block = new Uint8Array(Math.min(this.#remote.blockBytes, this.size - start));
    try {
      await this.#download(start, block);
    } catch (error) {
      this.#blocks.delete(index);
      throw error;
    }
    return block;
  }

  async #download(offset: number, into: Uint8Array, signal?: AbortSignal): Promise<void> {
    const source = this.name;
    const both = signal ? AbortSignal.any([signal, this.#closed.signal]) : this.#closed.signal;
    try {
      const response = await request(this.#remote, offset, into.byteLength, both);
      const range = await parsedOrCancelled(source, response, this.#identity);
      if (range.start !== offset) {
        await response.body?.cancel();
        fail('HTTP_NO_RANGES', { source, found: `a range from ${range.start}, asked for ${offset}` });
      }
      const found = await readBodyInto(response, into);
      if (found !== into.byteLength) fail('READ_SHORT', { source, offset, length: into.byteLength, found });
    } catch (cause) {
      if (this.#closed.signal.aborted) fail('DISPOSED', { what: `byte source ${source}` }, cause);
      throwIfAborted(signal, `reading ${source}`);
      if (isRocmforgeError(cause)) throw cause;
      fail('READ_FAILED', { source, offset, length: into.byteLength, reason: reasonOf(cause) }, cause);
    }
  }
}

function request(remote: Remote, start: number, length: number, signal?: AbortSignal): Promise<Response> {
  const headers = { ...remote.headers, range: `bytes=${start}-${start + length - 1}` };
  // Called without its object: a browser's own fetch refuses any other receiver than the window.
  const { fetch } = remote;
  return fetch(remote.url, signal ? { headers, signal } : { headers });
}

/** The answer's range; an answer that will not be used is cancelled, or its connection would stay busy. */
async function parsedOrCancelled(
  source: string,
  response: Response,
  opened?: RemoteIdentity,
): Promise<RangeResponse> {
  try {
    const range = parseRangeResponse(source, response);
    if (opened) checkSameFile(source, range.identity, opened);
    return range;
  } catch (error) {
    await response.body?.cancel();
    throw error;
  }
}

async function readFirstBlock(remote: Remote, response: Response, range: RangeResponse): Promise<Uint8Array> {
  const expected = Math.min(remote.blockBytes, range.identity.size);
  if (range.start !== 0 || range.length !== expected) {
    await response.body?.cancel();
    const found = `bytes ${range.start}+${range.length}, asked for 0+${expected}`;
    fail('HTTP_NO_RANGES', { source: remote.url, found });
  }
  const block = new Uint8Array(expected);
  const found = await readBodyInto(response, block);
  if (found !== expected) fail('READ_SHORT', { source: remote.url, offset: 0, length: expected, found });
  return block;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
