import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { RocmforgeError } from '../base/errors.ts';

/**
 * The host names that requests may use. Any web page can point a domain name of its own at this machine (DNS
 * rebinding), and the browser then sends that name; this cannot be done with addresses and `localhost`.
 */
export class HostCheck {
  readonly #names: readonly string[];

  /** Additional `names`; one that begins with a dot allows all subdomains, and `*` allows every name. */
  constructor(names: readonly string[]) {
    this.#names = names.map((name) => name.toLowerCase());
  }

  /** The error for a request's Host headers; undefined if they are fine. */
  problemOf({ rawHeaders, headers }: IncomingMessage): RocmforgeError | undefined {
    const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
    if (hosts.length > 1) {
      const problem = 'there is more than one header of the name';
      return new RocmforgeError('REQUEST_INVALID', { field: 'Host', problem });
    }
    const { host = '' } = headers;
    // The listener itself refuses a malformed name.
    return this.#allows(nameOf(host))
      ? undefined
      : new RocmforgeError('HOST_FORBIDDEN', { host: host.slice(0, 100) });
  }

  #allows(name: string): boolean {
    if (name === '' || isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost')) return true;
    return this.#names.some(
      (known) => known === '*' || known === name || (known.startsWith('.') && `.${name}`.endsWith(known)),
    );
  }
}

/** The name in a Host header, without the port and the brackets of an IPv6 address. */
function nameOf(host: string): string {
  const [, address, name] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host.toLowerCase()) ?? [];
  return (address ?? name ?? host).replace(/\.$/, '');
}
