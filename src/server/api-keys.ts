import { fail } from '../base/errors.ts';

/**
 * The keys that requests may carry. Hashes are compared instead of keys, so that the time a comparison takes tells nothing
 * about them.
 */
export class ApiKeys {
  readonly #hashes: Promise<ReadonlySet<string>> | undefined;

  /** Without a key, every request is let in. Throws `INVALID_ARGUMENT` for an empty one, which anybody would have. */
  constructor(keys: readonly string[]) {
    if (keys.includes('')) {
      fail('INVALID_ARGUMENT', {
        name: 'keys',
        found: 'an empty one',
        expected: 'keys of a letter at least',
      });
    }
    if (keys.length > 0) this.#hashes = Promise.all(keys.map(hashOf)).then((hashes) => new Set(hashes));
  }

  /** Rejects with `KEY_INVALID` unless the request carries a key as `authorization: Bearer` or as `x-api-key`. */
  async check(headers: Headers): Promise<void> {
    const hashes = await this.#hashes;
    if (!hashes) return;
    const bearer = /^Bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1];
    const key = bearer ?? headers.get('x-api-key') ?? undefined;
    if (key === undefined) fail('KEY_INVALID', { found: 'none' });
    if (!hashes.has(await hashOf(key))) fail('KEY_INVALID', { found: 'another one' });
  }
}

async function hashOf(key: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
