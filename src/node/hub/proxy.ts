import { request } from 'node:http';
import { Agent as HttpsAgent, type RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { fail } from '../../base/errors.ts';

/**
 * The proxy for an address by `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, as curl reads them; undefined for none. Throws
 * `INVALID_ARGUMENT` for one that is no address, or that does not speak HTTP.
 */
export function proxyFor(address: URL, environment: NodeJS.ProcessEnv): URL | undefined {
  const value = (name: string) => environment[name.toLowerCase()] || environment[name.toUpperCase()];
  const named = value(address.protocol === 'https:' ? 'https_proxy' : 'http_proxy') ?? value('all_proxy');
  if (!named || isExempt(address, value('no_proxy') ?? '')) return undefined;
  const text = /^\w+:\/\//.test(named) ? named : `http://${named}`;
  const proxy = URL.canParse(text) ? new URL(text) : undefined;
  if (proxy && /^https?:$/.test(proxy.protocol)) return proxy;
  // Its address may have a password.
  const found = proxy ? `a proxy of ${proxy.protocol.replace(':', '')}` : 'no address';
  const expected = 'an address of a proxy that speaks HTTP, or NO_PROXY with the name of the server';
  return fail('INVALID_ARGUMENT', { name: 'HTTPS_PROXY, HTTP_PROXY or ALL_PROXY', found, expected });
}

/** `NO_PROXY`: names separated by commas; each covers its sub-domains, may have a port, and `*` covers all. */
function isExempt({ hostname, port, protocol }: URL, list: string): boolean {
  const ownPort = port || (protocol === 'https:' ? '443' : '80');
  return list
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*') return true;
      const [, name = '', onlyPort] = /^(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
      const suffix = name.replace(/^\*?\./, '');
      const matches = hostname === suffix || hostname.endsWith(`.${suffix}`);
      return matches && (onlyPort === undefined || onlyPort === ownPort);
    });
}

/** The header by which a proxy recognizes its user; none if its address has no user. */
export function proxyHeaders({ username, password }: URL): Record<string, string> {
  if (username === '') return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
}

/** How an agent is told of a connection; Node's own type demands a stream even of a failure. */
type Connected = (error: Error | null, stream?: Duplex) => void;

/** Reaches https servers through a proxy: a CONNECT request, then TLS to the server itself (RFC 9110, section 9.3.6). */
export class TunnelAgent extends HttpsAgent {
  readonly #proxy: URL;

  constructor(proxy: URL) {
    super({ keepAlive: true });
    this.#proxy = proxy;
  }

  override createConnection(
    target: RequestOptions,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    const done = callback as Connected;
    const path = `${target.host}:${target.port ?? 443}`;
    const connecting = request({
      host: this.#proxy.hostname,
      port: this.#proxy.port || 80,
      method: 'CONNECT',
      path,
      headers: { host: path, ...proxyHeaders(this.#proxy) },
      agent: false,
    });
    connecting.once('connect', ({ statusCode }, socket) => {
      if (statusCode === 200) {
        const { servername = target.host ?? undefined } = target as { servername?: string };
        done(null, connectTls({ socket, ...(servername !== undefined && { servername }) }));
        return;
      }
      socket.destroy();
      done(new Error(`the proxy ${this.#proxy.host} answered CONNECT with status ${statusCode}`));
    });
    connecting.once('error', (error) =>
      done(new Error(`the proxy ${this.#proxy.host} cannot be reached: ${error.message}`, { cause: error })),
    );
    connecting.end();
    return undefined;
  }
}
