import { once } from 'node:events';
import { unlink } from 'node:fs/promises';
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  type Server,
  type ServerOptions,
  ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { fail } from '../base/errors.ts';
import { type Connection, errorResponse } from '../server/index.ts';
import { HostCheck } from './host-check.ts';
import { HttpConnection } from './http-connection.ts';

/** Where a server listens, and its limits for clients. */
export interface ListenOptions {
  /** An address, or several. Default 127.0.0.1: this machine only. */
  readonly host?: string | readonly string[] | undefined;
  /** Default 8080; 0 picks a free one, the same at all addresses. */
  readonly port?: number | undefined;
  /** The path of a Unix socket to listen on instead of host and port. A stale socket there is replaced. */
  readonly unixSocket?: string | undefined;
  /** Host names that requests may use besides addresses, `localhost` and `host`; `*` for any. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** A certificate and its key in PEM, for HTTPS. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Maximum seconds for the arrival of a request's headers and body. Default 60. */
  readonly readSeconds?: number | undefined;
  /** Seconds that an idle connection stays open. Default 65: longer than common proxies wait. */
  readonly keepAliveSeconds?: number | undefined;
}

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 8080;
const DEFAULT_READ_SECONDS = 60;
const DEFAULT_KEEP_ALIVE_SECONDS = 65;
const HEADER_SECONDS = 15;
const IDLE_CHECK_MS = 50;
const HEADER_BYTES = 16 * 1024;
const MAX_HEADERS = 100;
/** Interval at which a client that has closed its sending side is checked for being alive. */
const HALF_CLOSED_MS = 500;

/** Sockets that answer requests with a function. */
export class HttpListener implements AsyncDisposable {
  readonly #servers: readonly Server[];

  private constructor(
    servers: readonly Server[],
    /** The addresses that it listens on; `unix:` and a path for a Unix socket. */
    readonly urls: readonly string[],
  ) {
    this.#servers = servers;
  }

  /** The first of its addresses. */
  get url(): string {
    return this.urls[0] ?? '';
  }

  /**
   * Starts listening. Rejects with `ADDRESS_IN_USE` if that fails, and `INVALID_ARGUMENT` for an invalid certificate or
   * key.
   */
  static async open(
    fetch: (request: Request, connection: Connection) => Promise<Response>,
    options: ListenOptions = {},
  ): Promise<HttpListener> {
    const { host = DEFAULT_HOST, port = DEFAULT_PORT, unixSocket, allowedHosts = [], tls } = options;
    const addresses = typeof host === 'string' ? [host] : host;
    const hosts = unixSocket === undefined ? new HostCheck([...addresses, ...allowedHosts]) : undefined;
    const answer = getRequestListener(
      async (request, bindings) => {
        const connection = new HttpConnection(bindings as HttpBindings);
        return connection.answer(await fetch(request, connection));
      },
      { overrideGlobalObjects: false },
    );
    const open = () =>
      serverOf(options, (incoming, outgoing) => {
        const problem = hosts?.problemOf(incoming);
        if (problem) return void refuse(outgoing, errorResponse(problem, 'openai'));
        watchHalfClosed(incoming, outgoing);
        outgoing.once('finish', () => takeRest(incoming));
        void answer(incoming, outgoing);
      });
    if (unixSocket !== undefined) {
      const server = open();
      await listening(server, unixSocket, async () => {
        await removeStale(unixSocket);
        server.listen(unixSocket);
      });
      return new HttpListener([server], [`unix:${unixSocket}`]);
    }
    const scheme = tls ? 'https' : 'http';
    const servers: Server[] = [];
    const urls: string[] = [];
    let taken = port;
    try {
      for (const name of addresses) {
        const server = open();
        await listening(server, `${name}:${taken}`, () => server.listen(taken, name));
        servers.push(server);
        const { address, family, port: given } = server.address() as AddressInfo;
        taken = given;
        urls.push(`${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${given}`);
      }
    } catch (error) {
      await Promise.all(servers.map(ended));
      throw error;
    }
    return new HttpListener(servers, urls);
  }

  /** Accepts no new connections, and resolves when the open ones have closed. */
  async drain(): Promise<void> {
    await Promise.all(this.#servers.map(drained));
  }

  /** Ends all connections. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#servers.map(ended));
  }
}

/** Begins to listen and waits until a server does. Rejects with `ADDRESS_IN_USE`. */
async function listening(server: Server, address: string, begin: () => unknown): Promise<void> {
  try {
    await begin();
    await once(server, 'listening');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    fail('ADDRESS_IN_USE', { address, reason }, error);
  }
}

async function drained(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  // Clients keep connections open after their last response.
  const closing = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  try {
    await closed;
  } finally {
    clearInterval(closing);
  }
}

async function ended(server: Server): Promise<void> {
  if (!server.listening && server.address() === null) return server.closeAllConnections();
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

type ListenerOptions = ServerOptions<typeof IncomingMessage, typeof CanonicalResponse>;

/** Writes header names as `Content-Type`: they have no case (RFC 9110, section 5.1), but some clients look for that one. */
class CanonicalResponse extends ServerResponse {
  override writeHead(
    status: number,
    reason?: string | OutgoingHttpHeaders | OutgoingHttpHeader[],
    headers?: OutgoingHttpHeaders | OutgoingHttpHeader[],
  ): this {
    if (typeof reason === 'string') return super.writeHead(status, reason, canonical(headers));
    return super.writeHead(status, canonical(reason ?? headers));
  }
}

/** The headers by their canonical names. */
function canonical<T extends OutgoingHttpHeaders | OutgoingHttpHeader[] | undefined>(headers: T): T {
  if (headers === undefined || Array.isArray(headers)) return headers;
  const named = Object.entries(headers).map(
    ([name, value]) => [name.replaceAll(/(?<![^-])[a-z]/g, (letter) => letter.toUpperCase()), value] as const,
  );
  return Object.fromEntries(named) as T;
}

function serverOf(
  { tls, readSeconds = DEFAULT_READ_SECONDS, keepAliveSeconds = DEFAULT_KEEP_ALIVE_SECONDS }: ListenOptions,
  answer: (incoming: IncomingMessage, outgoing: ServerResponse) => void,
): Server {
  const options: ListenerOptions = {
    ServerResponse: CanonicalResponse,
    maxHeaderSize: HEADER_BYTES,
    requestTimeout: readSeconds * 1000,
    headersTimeout: Math.min(HEADER_SECONDS, readSeconds) * 1000,
    connectionsCheckingInterval: Math.min(1000, readSeconds * 250),
    keepAliveTimeout: keepAliveSeconds * 1000,
    noDelay: true,
  };
  const server = tls ? secured(options, tls, answer) : createServer(options, answer);
  server.maxHeadersCount = MAX_HEADERS;
  // A client that has closed its sending side still gets its response.
  Object.assign(server, { httpAllowHalfOpen: true });
  return server;
}

function secured(
  options: ListenerOptions,
  tls: { readonly cert: string; readonly key: string },
  answer: (incoming: IncomingMessage, outgoing: ServerResponse) => void,
): Server {
  try {
    return createTlsServer({ ...options, ...tls, minVersion: 'TLSv1.2' }, answer);
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    return fail(
      'INVALID_ARGUMENT',
      { name: 'tls', found, expected: 'a certificate and its key, in PEM' },
      error,
    );
  }
}

async function refuse(outgoing: ServerResponse, response: Response): Promise<void> {
  outgoing.writeHead(response.status, { ...Object.fromEntries(response.headers), connection: 'close' });
  outgoing.end(await response.text());
}

/**
 * A client that has closed its sending side either waits for its response or is gone; only sending something to it can
 * tell. Until the response begins, these are interim responses, which every HTTP/1.1 client skips (RFC 9110, section
 * 15.2).
 */
function watchHalfClosed({ socket, httpVersion }: IncomingMessage, outgoing: ServerResponse): void {
  if (httpVersion !== '1.1') return;
  let sending: ReturnType<typeof setInterval> | undefined;
  const onEnd = () => {
    sending = setInterval(() => {
      if (!outgoing.headersSent) outgoing.writeProcessing();
    }, HALF_CLOSED_MS);
  };
  socket.once('end', onEnd);
  outgoing.once('close', () => {
    socket.off('end', onEnd);
    clearInterval(sending);
  });
}

/**
 * Takes in the rest of a body that the response did not need, so that its connection serves the next request. Who reads
 * bodies in part has paused them, and the adapter to the Fetch API would close the connection for that, when the client
 * may have sent the next request already.
 */
function takeRest(incoming: IncomingMessage): void {
  if (incoming.readableEnded || incoming.destroyed) return;
  incoming.removeAllListeners('data');
  incoming.resume();
}

/** Removes the file of a socket that nobody listens on, as left behind by a server that was killed. */
async function removeStale(path: string): Promise<void> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') await unlink(path);
  } finally {
    socket.destroy();
  }
}
