import { Agent as HttpAgent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { Agent as HttpsAgent, request as requestSecurely } from 'node:https';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { fail, throwIfAborted } from '../../base/errors.ts';
import { proxyFor, proxyHeaders, TunnelAgent } from './proxy.ts';

/** The answer to a GET request. Its body must be read to the end or destroyed. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The address that answered, after redirects. */
  readonly url: string;
  /** The headers of the first redirect, if there was one: the hub tells a file's hash there. */
  readonly redirect: IncomingHttpHeaders | undefined;
  readonly body: IncomingMessage;
}

/** What is asked for. */
export interface HttpQuestion {
  readonly headers?: Readonly<Record<string, string>>;
  /** Headers for the server that is asked, and for no other that it redirects to: tokens, and whatever the user added. */
  readonly secrets?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** How a client reaches servers. */
export interface HttpClientOptions {
  /** Longest wait for the next byte, in milliseconds. */
  readonly idleMs: number;
  /** Where proxies are named. */
  readonly environment?: NodeJS.ProcessEnv | undefined;
}

const MAX_REDIRECTS = 5;
/** No listing of a repository is longer. */
const MAX_TEXT_BYTES = 64 << 20;

/**
 * GET requests by `node:http`: connections stay open, redirects are followed by hand so that secrets stay with their server,
 * proxies are used, and a server that stops sending is left. (`fetch` of the oldest supported Node knows no proxies.)
 */
export class HttpClient implements Disposable {
  readonly idleMs: number;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #plain = new HttpAgent({ keepAlive: true });
  readonly #secure = new HttpsAgent({ keepAlive: true });
  readonly #tunnels = new Map<string, TunnelAgent>();

  constructor({ idleMs, environment = process.env }: HttpClientOptions) {
    this.idleMs = idleMs;
    this.#environment = environment;
  }

  /** Asks and follows redirects. Rejects with `SOURCE_UNAVAILABLE` if nothing answers, with `ABORTED`, or `HTTP_STATUS`. */
  async get(address: string, { headers = {}, secrets = {}, signal }: HttpQuestion): Promise<HttpAnswer> {
    let url = new URL(address);
    const { origin } = url;
    let redirect: IncomingHttpHeaders | undefined;
    for (let hop = 0; ; hop++) {
      const sent = url.origin === origin ? { ...headers, ...secrets } : headers;
      const body = await this.#ask(url, sent, signal);
      const status = body.statusCode ?? 0;
      const { location } = body.headers;
      const isRedirect = [301, 302, 303, 307, 308].includes(status) && location !== undefined;
      if (!isRedirect) return { status, headers: body.headers, url: url.href, redirect, body };
      redirect ??= body.headers;
      body.resume();
      const next = URL.canParse(location, url.href) ? new URL(location, url.href) : undefined;
      if (hop === MAX_REDIRECTS || !next || !/^https?:$/.test(next.protocol)) {
        fail('HTTP_STATUS', { source: address, found: status, expected: 200 });
      }
      url = next;
    }
  }

  /** The text of an answer, decompressed. Rejects as `chunksOf`. */
  async textOf(answer: HttpAnswer, signal: AbortSignal): Promise<string> {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of this.chunksOf(answer, signal)) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_TEXT_BYTES) tooLong(answer);
    }
    const bytes = Buffer.concat(chunks);
    const options = { maxOutputLength: MAX_TEXT_BYTES };
    try {
      switch (answer.headers['content-encoding']) {
        case 'gzip':
          return gunzipSync(bytes, options).toString();
        case 'deflate':
          return inflateSync(bytes, options).toString();
        case 'br':
          return brotliDecompressSync(bytes, options).toString();
        default:
          return bytes.toString();
      }
    } catch (cause) {
      const { url: source } = answer;
      return fail('HUB_ANSWER_INVALID', { source, found: 'damaged compression', expected: 'JSON' }, cause);
    }
  }

  /** An answer's bytes. Rejects with `READ_FAILED` if the connection breaks or nothing arrives for too long, or `ABORTED`. */
  async *chunksOf({ body, url }: HttpAnswer, signal: AbortSignal): AsyncGenerator<Buffer> {
    // Only the wait for the server counts, not the time in which the reader is busy with what has arrived.
    let isWaiting = true;
    let isOver = false;
    let received = 0;
    const timer = setTimeout(() => {
      const before = received;
      afterArrivals(() => {
        if (isOver) return;
        if (isWaiting && received === before) body.destroy(silence(this.idleMs));
        else timer.refresh();
      });
    }, this.idleMs);
    const stop = () => body.destroy(new Error('no longer wanted'));
    signal.addEventListener('abort', stop, { once: true });
    try {
      throwIfAborted(signal, `reading ${url}`);
      for await (const chunk of body as AsyncIterable<Buffer>) {
        isWaiting = false;
        received += chunk.length;
        yield chunk;
        isWaiting = true;
        timer.refresh();
      }
    } catch (cause) {
      throwIfAborted(signal, `reading ${url}`);
      const length = Number(body.headers['content-length'] ?? received) - received;
      fail(
        'READ_FAILED',
        { source: withoutQuery(url), offset: received, length, reason: reasonOf(cause) },
        cause,
      );
    } finally {
      isOver = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      body.destroy();
    }
  }

  [Symbol.dispose](): void {
    for (const agent of [this.#plain, this.#secure, ...this.#tunnels.values()]) agent.destroy();
  }

  async #ask(
    url: URL,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    throwIfAborted(signal, `asking ${url.host}`);
    const proxy = proxyFor(url, this.#environment);
    const isSecure = url.protocol === 'https:';
    const asked = { 'user-agent': 'rocmforge', 'accept-encoding': 'identity', ...headers };
    const asking =
      isSecure || !proxy
        ? (isSecure ? requestSecurely : request)(url, {
            agent: isSecure ? (proxy ? this.#tunnel(proxy) : this.#secure) : this.#plain,
            headers: asked,
            signal,
          })
        : request({
            host: proxy.hostname,
            port: proxy.port || 80,
            path: url.href,
            agent: this.#plain,
            headers: { host: url.host, ...proxyHeaders(proxy), ...asked },
            signal,
          });
    let isOver = false;
    const timer = setTimeout(() => {
      afterArrivals(() => {
        if (!isOver) asking.destroy(silence(this.idleMs));
      });
    }, this.idleMs);
    try {
      return await new Promise<IncomingMessage>((resolve, reject) => {
        const answered = (body: IncomingMessage) => {
          isOver = true;
          resolve(body);
        };
        asking.once('response', answered).once('error', reject).end();
      });
    } catch (cause) {
      throwIfAborted(signal, `asking ${url.host}`);
      const through = proxy && !isSecure ? `through the proxy ${proxy.host}: ` : '';
      const reason = `${through}${reasonOf(cause)}`;
      return fail('SOURCE_UNAVAILABLE', { source: withoutQuery(url.href), reason }, cause);
    } finally {
      clearTimeout(timer);
    }
  }

  #tunnel(proxy: URL): TunnelAgent {
    const known = this.#tunnels.get(proxy.href);
    if (known) return known;
    const tunnel = new TunnelAgent(proxy);
    this.#tunnels.set(proxy.href, tunnel);
    return tunnel;
  }
}

/** An address without its query, which may hold a signature. */
export function withoutQuery(url: string): string {
  return url.replace(/\?.*$/s, '');
}

/** Runs after what has already arrived was taken: a thread that was busy itself must not take that for silence. */
function afterArrivals(then: () => void): void {
  setImmediate(then);
}

function silence(milliseconds: number): Error {
  return new Error(`nothing arrived for ${milliseconds / 1000} s`);
}

function tooLong({ url, body }: HttpAnswer): never {
  body.destroy();
  return fail('HUB_ANSWER_INVALID', {
    source: withoutQuery(url),
    found: `more than ${MAX_TEXT_BYTES} bytes`,
    expected: 'a listing',
  });
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  return error.message || (code ?? error.name);
}
