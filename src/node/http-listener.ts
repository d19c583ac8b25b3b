import { once } from 'node:events';
import { unlink } from 'node:fs/promises';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { fail } from '../base/errors.ts';
import { errorResponse } from '../server/index.ts';
import { HostCheck } from './host-check.ts';

/** Where a server listens, and its limits for clients. */
export interface ListenOptions {
  /** Default 127.0.0.1: this machine alone. */
  readonly host?: string | undefined;
  /** Default 8080; 0 takes a free one. */
  readonly port?: number | undefined;
  /** The path of a Unix socket to listen at in place of host and port. A socket there that nobody listens at is replaced. */
  readonly unixSocket?: string | undefined;
  /** Names under which it may be asked for beside addresses, `localhost` and `host`; `*` for any. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** A certificate and its key in PEM: it speaks HTTPS then. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Seconds in which a request's headers and body must have come. Default 60. */
  readonly readSeconds?: number | undefined;
  /** Seconds for which a connection stays open after an answer. Default 65: longer than the proxies before it wait. */
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
/** Between two signs of life to a client that has ended its side, which tell whether it is still there. */
const HALF_CLOSED_MS = 500;

/** A socket that answers requests by a function. */
export class HttpListener implements AsyncDisposable {
  readonly #server: Server;

  private constructor(
    server: Server,
    /** The address that it answers at; `unix:` and a path for a Unix socket. */
    readonly url: string,
  ) {
    this.#server = server;
  }

  /** Listens. Rejects with `ADDRESS_IN_USE` where that cannot be, and `INVALID_ARGUMENT` for what is no certificate with its key. */
  static async open(
    fetch: (request: Request) => Promise<Response>,
    options: ListenOptions = {},
  ): Promise<HttpListener> {
    const { host = DEFAULT_HOST, port = DEFAULT_PORT, unixSocket, allowedHosts = [], tls } = options;
    const hosts = unixSocket === undefined ? new HostCheck([host, ...allowedHosts]) : undefined;
    const answer = getRequestListener((request) => fetch(request), { overrideGlobalObjects: false });
    const server = serverOf(options, (incoming, outgoing) => {
      const problem = hosts?.problemOf(incoming);
      if (problem) return void refuse(outgoing, errorResponse(problem, 'openai'));
      watchHalfClosed(incoming, outgoing);
      void answer(incoming, outgoing);
    });
    const address = unixSocket ?? `${host}:${port}`;
    try {
      if (unixSocket !== undefined) await removeStale(unixSocket);
      if (unixSocket === undefined) server.listen(port, host);
      else server.listen(unixSocket);
      await once(server, 'listening');
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      fail('ADDRESS_IN_USE', { address, reason }, error);
    }
    if (unixSocket !== undefined) return new HttpListener(server, `unix:${unixSocket}`);
    const { address: at, family, port: taken } = server.address() as AddressInfo;
    const scheme = tls ? 'https' : 'http';
    return new HttpListener(server, `${scheme}://${family === 'IPv6' ? `[${at}]` : at}:${taken}`);
  }

  /** Accepts no new connections, and resolves when the open ones have closed. */
  async drain(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    // Clients keep connections open after their last answer.
    const closing = setInterval(() => this.#server.closeIdleConnections(), IDLE_CHECK_MS);
    try {
      await closed;
    } finally {
      clearInterval(closing);
    }
  }

  /** Ends all connections. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening && this.#server.address() === null) this.#server.closeAllConnections();
    else {
      const closed = once(this.#server, 'close');
      this.#server.close();
      this.#server.closeAllConnections();
      await closed;
    }
  }
}

function serverOf(
  { tls, readSeconds = DEFAULT_READ_SECONDS, keepAliveSeconds = DEFAULT_KEEP_ALIVE_SECONDS }: ListenOptions,
  answer: (incoming: IncomingMessage, outgoing: ServerResponse) => void,
): Server {
  const options: ServerOptions = {
    maxHeaderSize: HEADER_BYTES,
    requestTimeout: readSeconds * 1000,
    headersTimeout: Math.min(HEADER_SECONDS, readSeconds) * 1000,
    connectionsCheckingInterval: Math.min(1000, readSeconds * 250),
    keepAliveTimeout: keepAliveSeconds * 1000,
    noDelay: true,
  };
  const server = tls ? secured(options, tls, answer) : createServer(options, answer);
  server.maxHeadersCount = MAX_HEADERS;
  // Who has said all he has to say gets his answer all the same.
  Object.assign(server, { httpAllowHalfOpen: true });
  return server;
}

function secured(
  options: ServerOptions,
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
 * A client that has ended its side waits for its answer, or is gone: only what is sent to it tells. Until the answer begins these
 * are interim responses, which every HTTP/1.1 client reads past (RFC 9110, section 15.2).
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

/** Removes a socket's file where nobody listens: a server that was killed leaves it behind. */
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
