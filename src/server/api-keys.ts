import { fail } from '../base/errors.ts';
import { type ApiKey, Tenant } from './tenant.ts';

/** A key's hash, and its tenant. */
interface KnownKey {
  readonly hash: Uint8Array;
  readonly tenant: Tenant;
}

/**
 * The keys that requests may have. Hashes are compared instead of keys, over all bytes and all keys, so that timing
 * reveals nothing about them.
 */
export class ApiKeys {
  readonly #known: Promise<readonly KnownKey[]>;
  readonly #hasKeys: boolean;
  readonly #anybody = new Tenant('anybody');

  /**
   * Without keys, every request is accepted. Throws `INVALID_ARGUMENT` for an empty key, which every client would have,
   * and for invalid limits.
   */
  constructor(given: readonly (string | ApiKey)[]) {
    const keys = given.map((key): ApiKey => (typeof key === 'string' ? { key } : key));
    if (keys.some(({ key }) => key === '')) {
      fail('INVALID_ARGUMENT', {
        name: 'keys',
        found: 'an empty one',
        expected: 'keys of a letter at least',
      });
    }
    const tenants = new Map<string, Tenant>();
    const owned = keys.map(({ key, name: given, ...limits }, index) => {
      const name = given ?? `key ${index}`;
      const tenant = tenants.get(name) ?? new Tenant(name, limits);
      tenants.set(name, tenant);
      return { key, tenant };
    });
    this.#hasKeys = keys.length > 0;
    this.#known = Promise.all(owned.map(async ({ key, tenant }) => ({ hash: await hashOf(key), tenant })));
  }

  /**
   * The tenant of a request. Rejects with `KEY_INVALID` unless it has a key as `authorization: Bearer` or as
   * `x-api-key`.
   */
  async check(headers: Headers): Promise<Tenant> {
    if (!this.#hasKeys) return this.#anybody;
    const known = await this.#known;
    const bearer = /^Bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1];
    const key = bearer ?? headers.get('x-api-key') ?? undefined;
    if (key === undefined) fail('KEY_INVALID', { found: 'none' });
    const hash = await hashOf(key);
    let found: Tenant | undefined;
    for (const { hash: other, tenant } of known) if (differingBits(hash, other) === 0) found = tenant;
    return found ?? fail('KEY_INVALID', { found: 'another one' });
  }
}

/** Nonzero if the bytes differ. Takes the same time wherever they do. */
function differingBits(a: Uint8Array, b: Uint8Array): number {
  let bits = 0;
  for (let i = 0; i < a.length; i++) bits |= (a[i] as number) ^ (b[i] as number);
  return bits;
}

async function hashOf(key: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key)));
}
