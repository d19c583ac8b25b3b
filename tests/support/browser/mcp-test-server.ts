import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';
import type { SignInTestServer } from './sign-in-test-server.ts';

/** The key that the server wants. */
export const MCP_KEY = 'Bearer open';

/** Where the server tells who signs people in. */
const METADATA = '/people-sign-in-there';

/** A server of the official SDK on loopback, for pages of other origins, with a key, or for people whom another server signs in. */
export class McpTestServer implements AsyncDisposable {
  /** The arguments of the calls of `add`. */
  readonly added: unknown[] = [];
  /** The authorization of each request that had one. */
  readonly authorizations: string[] = [];
  readonly #signIn: SignInTestServer | undefined;
  #server: Server | undefined;
  #port = 0;
  readonly #sessions = new Map<string, StreamableHTTPServerTransport>();

  constructor(signIn?: SignInTestServer) {
    this.#signIn = signIn;
  }

  get address(): string {
    return `http://127.0.0.1:${this.#port}/mcp`;
  }

  /** Listens, again at the same address after `stop`. */
  async start(): Promise<void> {
    const server = createServer((request, response) => void this.#serve(request, response));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    ({ port: this.#port } = server.address() as AddressInfo);
  }

  /** Forgets all sessions, as a server does that was started anew. */
  async forget(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    for (const session of sessions) await session.close();
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    const closed = new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
    // Those that came before it stopped listening.
    server?.closeAllConnections();
    await closed;
    await this.forget();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader('access-control-allow-origin', '*');
    response.setHeader('access-control-allow-methods', 'GET, POST, DELETE');
    response.setHeader(
      'access-control-allow-headers',
      'authorization, content-type, mcp-session-id, mcp-protocol-version',
    );
    response.setHeader('access-control-expose-headers', 'mcp-session-id, www-authenticate');
    if (request.method === 'OPTIONS') return void response.writeHead(204).end();
    if (this.#signIn && request.url === METADATA) return this.#tellWhoSignsIn(this.#signIn, response);
    const { authorization = '' } = request.headers;
    if (authorization !== '') this.authorizations.push(authorization);
    if (!this.#isKnown(authorization)) {
      const metadata = `Bearer resource_metadata="${new URL(METADATA, this.address).href}"`;
      if (this.#signIn) response.setHeader('www-authenticate', metadata);
      return void response.writeHead(401).end();
    }
    const id = request.headers['mcp-session-id'];
    const known = this.#sessions.get(String(id));
    if (id !== undefined && !known) return void response.writeHead(404).end();
    await (known ?? (await this.#open())).handleRequest(request, response);
  }

  #isKnown(authorization: string): boolean {
    if (!this.#signIn) return authorization === MCP_KEY;
    return this.#signIn.tokens.has(authorization.replace(/^Bearer /, ''));
  }

  #tellWhoSignsIn(signIn: SignInTestServer, response: ServerResponse): void {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ resource: this.address, authorization_servers: [signIn.url] }));
  }

  async #open(): Promise<StreamableHTTPServerTransport> {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void this.#sessions.set(id, transport),
    });
    const server = new McpServer({ name: 'test', version: '1' });
    const numbers = { a: z.number(), b: z.number() };
    server.registerTool(
      'add',
      { description: 'Adds numbers', inputSchema: numbers, outputSchema: { sum: z.number() } },
      (of) => {
        this.added.push(of);
        const sum = of.a + of.b;
        return { content: [{ type: 'text', text: `${sum}` }], structuredContent: { sum } };
      },
    );
    server.registerTool('fail', { description: 'Fails' }, () => {
      throw new Error('no luck');
    });
    // It never answers: the server is gone first.
    server.registerTool('hang', { description: 'Hangs' }, () => new Promise<never>(() => {}));
    await server.connect(transport as Parameters<McpServer['connect']>[0]);
    return transport;
  }
}
