import { fail } from '../base/errors.ts';

/** What tells one version of a remote file from another, as far as the server says. */
export interface RemoteIdentity {
  readonly size: number;
  readonly validator: string | undefined;
}

/** The range of a 206 answer and the file it was cut from. */
export interface RangeResponse {
  readonly start: number;
  readonly length: number;
  readonly identity: RemoteIdentity;
}

/** Reads status, Content-Range and validator of the answer to a range request (RFC 9110, section 14.4). */
export function parseRangeResponse(source: string, response: Response): RangeResponse {
  if (response.status === 200) fail('HTTP_NO_RANGES', { source, found: 'status 200 with the whole file' });
  if (response.status !== 206) fail('HTTP_STATUS', { source, found: response.status, expected: 206 });
  const header = response.headers.get('content-range');
  const match = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(header?.trim() ?? '');
  if (!match) fail('HTTP_NO_RANGES', { source, found: `206 with Content-Range: ${header ?? '(none)'}` });
  const [start, last, size] = [Number(match[1]), Number(match[2]), Number(match[3])];
  if (last < start || last >= size || !Number.isSafeInteger(size)) {
    fail('HTTP_NO_RANGES', { source, found: `206 with Content-Range: ${header}` });
  }
  const validator = response.headers.get('etag') ?? response.headers.get('last-modified') ?? undefined;
  return { start, length: last - start + 1, identity: { size, validator } };
}

/** Throws `SOURCE_CHANGED` when an answer comes from another version of the file than the one that was opened. */
export function checkSameFile(source: string, found: RemoteIdentity, opened: RemoteIdentity): void {
  if (found.size !== opened.size) {
    fail('SOURCE_CHANGED', { source, what: 'its size', found: `${found.size}`, expected: `${opened.size}` });
  }
  if (found.validator !== opened.validator) {
    fail('SOURCE_CHANGED', {
      source,
      what: 'its ETag or modification time',
      found: found.validator ?? '(none)',
      expected: opened.validator ?? '(none)',
    });
  }
}

/** Streams a body into `into`, which it must fill exactly. */
export async function readBodyInto(response: Response, into: Uint8Array): Promise<number> {
  const reader = response.body?.getReader();
  if (!reader) return 0;
  let filled = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return filled;
    const room = into.byteLength - filled;
    into.set(value.byteLength > room ? value.subarray(0, room) : value, filled);
    filled += value.byteLength;
    if (filled > into.byteLength) {
      await reader.cancel();
      return filled;
    }
  }
}
