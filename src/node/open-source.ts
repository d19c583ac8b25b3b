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

/** Opens a local path or an http(s) URL. Rejects with `SOURCE_UNAVAILABLE`, or an `HTTP_…` error. */
export async function openSource(
  location: string | URL,
  options: OpenSourceOptions = {},
): Promise<ByteSource> {
  checkOptions('openSource', options, OPEN_SOURCE_OPTIONS);
  const name = String(location);
  if (/^https?:\/\//i.test(name)) {
    return HttpRangeSource.open(name, {
      ...options.http,
      ...(options.signal ? { signal: options.signal } : {}),
    });
  }
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

/** Throws `SOURCE_UNAVAILABLE` for a URL that is not a file of this machine. */
function pathOf(url: string): string {
  try {
    return fileURLToPath(url);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    return fail('SOURCE_UNAVAILABLE', { source: url, reason }, cause);
  }
}
