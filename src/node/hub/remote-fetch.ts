import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { fail, isRocmforgeError } from '../../base/errors.ts';
import { type HttpAnswer, type HttpClient, withoutQuery } from './http-client.ts';
import { backOff, mayPassStatus, type Patience, refuseStatus, retried } from './retry.ts';

/** Files that are read where they are: somebody waits for each read. */
const PATIENCE: Patience = { attempts: 4, firstMs: 250 };

/** A signed address may expire; its server then refuses, and the first server is asked for another. */
const EXPIRED = new Set([400, 401, 403, 404, 410]);

/** What is asked for. */
interface RemoteQuestion {
  readonly url: string;
  readonly secrets: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/**
 * A `fetch` for reading ranges of remote files: redirects are followed once for each file, connections that are cut or stand still
 * are continued where they ended, servers that are busy are asked again, and headers other than the range stay with the server
 * that is named.
 */
export function remoteFetch(client: HttpClient): typeof globalThis.fetch {
  /** Where the redirects of addresses ended. */
  const resolved = new Map<string, string>();
  const askOnce = async ({ url, secrets, signal }: RemoteQuestion, range: string): Promise<HttpAnswer> => {
    const headers: Record<string, string> = range === '' ? {} : { range };
    const known = resolved.get(url);
    if (known !== undefined) {
      const answer = await client.get(known, { headers, signal });
      if (!EXPIRED.has(answer.status)) return usable(answer);
      answer.body.resume();
      resolved.delete(url);
    }
    const answer = usable(await client.get(url, { headers, secrets, signal }));
    if (new URL(answer.url).origin !== new URL(url).origin) resolved.set(url, answer.url);
    return answer;
  };
  const ask = (request: RemoteQuestion, range: string) =>
    retried(() => askOnce(request, range), { patience: PATIENCE, signal: request.signal });
  return async (input, init = {}) => {
    const url = input instanceof Request ? input.url : String(input);
    const { range = '', ...secrets } = Object.fromEntries(new Headers(init.headers));
    const request = { url, secrets, signal: init.signal ?? new AbortController().signal };
    const answer = await ask(request, range);
    const chunks = continued(client, { answer, range, signal: request.signal }, (rest) => ask(request, rest));
    const body = Readable.toWeb(Readable.from(chunks, { objectMode: false })) as ReadableStream<Uint8Array>;
    return new Response(body as BodyInit, { status: answer.status, headers: headersOf(answer) });
  };
}

/** An answer's bytes; what a connection that ended did not send comes from the next one. */
async function* continued(
  client: HttpClient,
  first: { readonly answer: HttpAnswer; readonly range: string; readonly signal: AbortSignal },
  ask: (range: string) => Promise<HttpAnswer>,
): AsyncGenerator<Buffer> {
  const { signal } = first;
  const [, start, end] = /^bytes=(\d+)-(\d*)$/.exec(first.range) ?? [];
  let { answer } = first;
  let at = Number(start);
  for (let failures = 0; ;) {
    try {
      for await (const chunk of client.chunksOf(answer, signal)) {
        at += chunk.length;
        failures = 0;
        yield chunk;
      }
      return;
    } catch (error) {
      // A whole file cannot be continued in its middle.
      if (answer.status !== 206 || !isRocmforgeError(error, 'READ_FAILED')) throw error;
      await backOff(error, ++failures, { patience: PATIENCE, signal });
    }
    const next = await ask(`bytes=${at}-${end}`);
    checkSame(first.answer, next, at);
    answer = next;
  }
}

function checkSame(first: HttpAnswer, next: HttpAnswer, at: number): void {
  const version = ({ headers }: HttpAnswer) => headers.etag ?? headers['last-modified'] ?? '(none)';
  const source = withoutQuery(first.url);
  if (version(next) !== version(first)) {
    next.body.destroy();
    const params = { source, what: 'its ETag or modification time', found: version(next) };
    fail('SOURCE_CHANGED', { ...params, expected: version(first) });
  }
  const [, start] = /^bytes (\d+)-/.exec(next.headers['content-range'] ?? '') ?? [];
  if (next.status !== 206 || Number(start) !== at) {
    next.body.destroy();
    fail('HTTP_NO_RANGES', { source, found: `status ${next.status} from ${start ?? 'the beginning'}` });
  }
}

function usable(answer: HttpAnswer): HttpAnswer {
  return mayPassStatus(answer.status) ? refuseStatus(answer, 206) : answer;
}

function headersOf(answer: HttpAnswer): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers)) {
    for (const one of [value ?? []].flat()) headers.append(name, one);
  }
  return headers;
}
