import { fileURLToPath } from 'node:url';
import { fail, isRocmforgeError } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import { checkOptions, type OptionNames } from '../base/options.ts';
import { type ByteSource, type HttpRangeOptions, HttpRangeSource } from '../io/index.ts';
import { FileSource } from './file-source.ts';
import { MappedSource } from './mapped-source.ts';

/** Options for opening a path or URL. */
export interface OpenSourceOptions {
  /** Whether files are memory-mapped if possible; default true. */
  readonly mmap?: boolean;
  /** Requests to remote files. */
  readonly http?: Omit<HttpRangeOptions, 'signal'>;
  readonly logger?: Logger;
  readonly signal?: AbortSignal;
}

/** The names of `OpenSourceOptions`. */
export const OPEN_SOURCE_OPTIONS: OptionNames<OpenSourceOptions> = {
  mmap: true,
  http: true,
  logger: true,
  signal: true,
};

/**
 * Opens a local path or an http(s) URL. A remote file is read where it is, or downloaded into the cache of models if its server
 * does not serve ranges. Rejects with `SOURCE_UNAVAILABLE`, or an `HTTP_…` error.
 */
export async function openSource(
  location: string | URL,
  options: OpenSourceOptions = {},
): Promise<ByteSource> {
  checkOptions('openSource', options, OPEN_SOURCE_OPTIONS);
  const name = String(location);
  if (/^https?:\/\//i.test(name)) return openRemote(name, options);
  const path = /^file:\/\//i.test(name) ? pathOf(name) : name;
  const logger = options.logger ?? silentLogger;
  if (options.mmap === false) return FileSource.open(path);
  try {
    return await MappedSource.open(path);
  } catch (error) {
    if (!isRocmforgeError(error, 'SOURCE_UNAVAILABLE')) throw error;
    const file = await FileSource.open(path);
    logger.debug('reading by position instead of memory mapping', { path, reason: error.message });
    return file;
  }
}

async function openRemote(url: string, options: OpenSourceOptions): Promise<ByteSource> {
  const { http = {}, signal, logger = silentLogger } = options;
  const { ModelHub } = await import('./hub/index.ts');
  const { headers } = http;
  // Not disposed: the source reads through its connections, which do not keep the process alive when they are idle.
  const hub = await ModelHub.open({ headers, signal, logger });
  try {
    return await HttpRangeSource.open(url, { fetch: hub.fetch, ...http, ...(signal && { signal }) });
  } catch (error) {
    if (!isRocmforgeError(error, 'HTTP_NO_RANGES') || http.fetch) throw error;
    const name = { kind: 'url', url } as const;
    logger.warn('the server does not serve ranges: downloading the whole file', { url });
    const { path } = (await hub.cached(name)) ?? (await hub.pull(name));
    return openSource(path, options);
  }
}

/** Throws `SOURCE_UNAVAILABLE` for a URL that is not a file of this machine. */
function pathOf(url: string): string {
  try {
    return fileURLToPath(url);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    return fail('SOURCE_UNAVAILABLE', { source: url, reason }, cause);
  }
}
