import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { RocmforgeError } from '../base/errors.ts';

/**
 * The names under which a server may be asked for. A page of anybody's can make a name of its own stand for this machine (DNS
 * rebinding), and its browser then sends that name; addresses and `localhost` cannot be taken so.
 */
export class HostCheck {
  readonly #names: readonly string[];

  /** `names` beside those; of one that begins with a dot, all names below, too, and `*` is every name. */
  constructor(names: readonly string[]) {
    this.#names = names.map((name) => name.toLowerCase());
  }

  /** What is wrong with a request's Host headers; undefined for nothing. */
  problemOf({ rawHeaders, headers }: IncomingMessage): RocmforgeError | undefined {
    const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
    if (hosts.length > 1) {
      const problem = 'there is more than one header of the name';
      return new RocmforgeError('REQUEST_INVALID', { field: 'Host', problem });
    }
    const { host = '' } = headers;
    // What is no name at all, the listener refuses.
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

/** The name in a Host header, without its port and an IPv6 address' brackets. */
function nameOf(host: string): string {
  const [, address, name] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host.toLowerCase()) ?? [];
  return (address ?? name ?? host).replace(/\.$/, '');
}
