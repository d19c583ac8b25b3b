import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { fail } from '../base/errors.ts';

/** Where a server listens, and its limits for clients. */
export interface ListenOptions {
  /** Default 127.0.0.1: this machine alone. */
  readonly host?: string | undefined;
  /** Default 8080; 0 takes a free one. */
  readonly port?: number | undefined;
  /** Seconds in which a request's headers and body must have come. Default 60. */
  readonly readSeconds?: number | undefined;
}

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 8080;
const DEFAULT_READ_SECONDS = 60;
const HEADER_SECONDS = 15;
const IDLE_CHECK_MS = 50;
const HEADER_BYTES = 16 * 1024;
const MAX_HEADERS = 100;

/** A socket that answers requests by a function. */
export class HttpListener implements AsyncDisposable {
  readonly #server: Server;

  private constructor(
    server: Server,
    /** The address that it answers at. */
    readonly url: string,
  ) {
    this.#server = server;
  }

  /** Listens. Rejects with `ADDRESS_IN_USE` where that cannot be. */
  static async open(
    fetch: (request: Request) => Promise<Response>,
    options: ListenOptions = {},
  ): Promise<HttpListener> {
    const { host = DEFAULT_HOST, port = DEFAULT_PORT, readSeconds = DEFAULT_READ_SECONDS } = options;
    const server = createAdaptorServer({
      fetch: (request: Request) => fetch(request),
      // The globals stay Node's own.
      overrideGlobalObjects: false,
      serverOptions: {
        maxHeaderSize: HEADER_BYTES,
        requestTimeout: readSeconds * 1000,
        headersTimeout: Math.min(HEADER_SECONDS, readSeconds) * 1000,
        connectionsCheckingInterval: Math.min(1000, readSeconds * 250),
        noDelay: true,
      },
    }) as Server;
    server.maxHeadersCount = MAX_HEADERS;
    try {
      server.listen(port, host);
      await once(server, 'listening');
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      fail('ADDRESS_IN_USE', { address: `${host}:${port}`, reason }, error);
    }
    const { address, family, port: taken } = server.address() as AddressInfo;
    return new HttpListener(server, `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`);
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
