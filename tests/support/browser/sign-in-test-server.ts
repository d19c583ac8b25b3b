import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json, text } from 'node:stream/consumers';

/** What a code stands for. */
interface Grant {
  readonly client: string;
  readonly challenge: string;
  readonly redirect: string;
  readonly resource: string;
}

/** What was asked of an endpoint: its path, and the parameters. */
interface Asked {
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/**
 * A server that signs people in for others (OAuth 2.1): registration of clients, a page with a link to allow and one to refuse, codes that
 * are good for one time with PKCE, and refresh tokens that change with each use.
 */
export class SignInTestServer implements AsyncDisposable {
  /** Everything that was asked. */
  readonly asked: Asked[] = [];
  /** Access tokens that are good. */
  readonly tokens = new Set<string>();
  readonly #refreshes = new Map<string, string>();
  readonly #clients = new Map<string, readonly string[]>();
  readonly #codes = new Map<string, Grant>();
  readonly #server: Server = createServer((request, response) => void this.#serve(request, response));

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  static async open(): Promise<SignInTestServer> {
    const server = new SignInTestServer();
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  /** Ends all access tokens; those who have a refresh token get others, unless these end, too. */
  expire({ refreshes = false } = {}): void {
    this.tokens.clear();
    if (refreshes) this.#refreshes.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname: path, searchParams } = new URL(request.url ?? '/', this.url);
    response.setHeader('access-control-allow-origin', '*');
    response.setHeader('access-control-allow-headers', 'content-type, mcp-protocol-version');
    if (request.method === 'OPTIONS') return void response.writeHead(204).end();
    const answer = (status: number, value: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    const note = (parameters: Record<string, string>) => this.asked.push({ path, parameters });
    if (path === '/.well-known/oauth-authorization-server') {
      note({});
      answer(200, this.#metadata());
    } else if (path === '/register') {
      const client = (await json(request)) as { readonly redirect_uris: readonly string[] };
      note({ redirect: client.redirect_uris.join(' ') });
      const id = randomUUID();
      this.#clients.set(id, client.redirect_uris);
      answer(201, { ...client, client_id: id });
    } else if (path === '/authorize') {
      const parameters = Object.fromEntries(searchParams);
      note(parameters);
      this.#ask(parameters, response);
    } else if (path === '/token') {
      const parameters = Object.fromEntries(new URLSearchParams(await text(request)));
      note(parameters);
      const given = this.#token(parameters);
      answer(given ? 200 : 400, given ?? { error: 'invalid_grant' });
    } else answer(404, {});
  }

  #metadata(): object {
    const at = (path: string) => `${this.url}${path}`;
    return {
      issuer: this.url,
      authorization_endpoint: at('/authorize'),
      token_endpoint: at('/token'),
      registration_endpoint: at('/register'),
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
    };
  }

  /** The page on which the person allows it or not. */
  #ask(of: Readonly<Record<string, string>>, response: ServerResponse): void {
    const { client_id: client = '', redirect_uri: redirect = '', code_challenge: challenge = '' } = of;
    if (!this.#clients.get(client)?.includes(redirect)) return void response.writeHead(400).end();
    const code = randomUUID();
    this.#codes.set(code, { client, challenge, redirect, resource: of['resource'] ?? '' });
    const link = (parameters: Record<string, string>) => {
      const query = new URLSearchParams({ ...parameters, state: of['state'] ?? '', iss: this.url });
      return `${redirect}?${query}`.replaceAll('&', '&amp;');
    };
    response.setHeader('content-type', 'text/html');
    response.end(
      `<!doctype html><title>Sign in</title><a href="${link({ code })}">Allow</a> <a href="${link({ error: 'access_denied' })}">Refuse</a>`,
    );
  }

  #token(of: Readonly<Record<string, string>>): object | undefined {
    const { code = '', code_verifier: verifier = '', refresh_token: refresh = '' } = of;
    const grant = this.#codes.get(code);
    this.#codes.delete(code);
    const isGranted =
      grant !== undefined &&
      grant.client === of['client_id'] &&
      grant.redirect === of['redirect_uri'] &&
      grant.resource === of['resource'] &&
      grant.challenge === createHash('sha256').update(verifier).digest('base64url');
    const isRefreshed = this.#refreshes.get(refresh) === of['client_id'];
    this.#refreshes.delete(refresh);
    if (!(of['grant_type'] === 'refresh_token' ? isRefreshed : isGranted)) return undefined;
    const [token, next] = [randomUUID(), randomUUID()];
    this.tokens.add(token);
    this.#refreshes.set(next, of['client_id'] ?? '');
    return { access_token: token, token_type: 'Bearer', expires_in: 3600, refresh_token: next };
  }
}
