import { fail } from '../../base/errors.ts';
import { parseRangeResponse } from '../../io/index.ts';
import type { Feed, Origin } from './origin.ts';

/** A file on a server, with or without range requests. */
export function httpOrigin(url: string, headers: Readonly<Record<string, string>> = {}): Origin {
  return {
    name: url,
    fileName: fileNameOf(url),
    url,
    key: url,
    open: (offset, signal) => open(url, { offset, headers, signal }),
  };
}

/** The last part of an address, without its query. */
function fileNameOf(url: string): string {
  const { pathname } = new URL(url);
  const last = pathname.slice(pathname.lastIndexOf('/') + 1);
  try {
    return decodeURIComponent(last) || url;
  } catch {
    // A URL may contain a percent sign that does not start an escape.
    return last;
  }
}

async function open(
  source: string,
  request: { offset: number; headers: Readonly<Record<string, string>>; signal: AbortSignal },
): Promise<Feed> {
  const { offset, signal } = request;
  // A range is requested from the start as well: browsers then request uncompressed data, so that the size is known.
  const headers = { ...request.headers, range: `bytes=${offset}-` };
  let response: Response;
  try {
    // The store is the cache: the browser's own would store the model a second time.
    response = await fetch(source, { headers, signal, cache: 'no-store' });
  } catch (cause) {
    return fail('SOURCE_UNAVAILABLE', { source, reason: String(cause) }, cause);
  }
  const { body, status } = response;
  if (status === 200 && body) return { start: 0, ...wholeOf(response), body };
  if (status !== 206 || !body) {
    await body?.cancel();
    fail('HTTP_STATUS', { source, found: status, expected: 206 });
  }
  try {
    return { ...rangeOf(source, response, offset), body };
  } catch (error) {
    await body.cancel();
    throw error;
  }
}

/** A server that ignores ranges sends the whole file. */
function wholeOf(response: Response): Pick<Feed, 'size' | 'validator'> {
  return { size: lengthOf(response), validator: validatorOf(response) };
}

function rangeOf(source: string, response: Response, offset: number): Omit<Feed, 'body'> {
  if (response.headers.has('content-range')) {
    const { start, identity } = parseRangeResponse(source, response);
    return { start, ...identity };
  }
  // Servers of other origins must expose this header explicitly. Otherwise, the response's length gives the file's
  // size.
  const length = lengthOf(response);
  const size = length === undefined ? undefined : offset + length;
  return { start: offset, size, validator: validatorOf(response) };
}

function lengthOf(response: Response): number | undefined {
  const length = response.headers.get('content-length');
  const isPlain = !response.headers.has('content-encoding');
  return isPlain && length !== null && /^\d+$/.test(length) ? Number(length) : undefined;
}

function validatorOf({ headers }: Response): string | undefined {
  return headers.get('etag') ?? headers.get('last-modified') ?? undefined;
}
