import { fail } from '../base/errors.ts';
import { type ApiKey, Tenant } from './tenant.ts';

/** Whose request it is. */
export interface Caller {
  /** Whose limits count. */
  readonly tenant: Tenant;
  /** Whose stored items it may use: a hash of the key. */
  readonly owner: string;
}

/** A key's hash, and its caller. */
interface KnownKey {
  readonly hash: Uint8Array;
  readonly caller: Caller;
}

/** Names of owners are hashes of their own, so that they reveal nothing of those that are compared. */
const STORE_PREFIX = 'store of ';
const OWNER_BYTES = 16;

/** The owner of what is stored by a server without keys. */
export const ANYBODY = 'anybody';

/**
 * The keys that requests may have. Hashes are compared instead of keys, over all bytes and all keys, so that timing
 * reveals nothing about them.
 */
export class ApiKeys {
  readonly #known: Promise<readonly KnownKey[]>;
  readonly #hasKeys: boolean;
  readonly #anybody: Caller = { tenant: new Tenant('anybody'), owner: ANYBODY };

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
    this.#known = Promise.all(
      owned.map(async ({ key, tenant }) => {
        const [hash, named] = await Promise.all([hashOf(key), hashOf(`${STORE_PREFIX}${key}`)]);
        return { hash, caller: { tenant, owner: hexOf(named.subarray(0, OWNER_BYTES)) } };
      }),
    );
  }

  /** The caller whose stored items these are; undefined if its key is no longer valid. */
  async callerOf(owner: string): Promise<Caller | undefined> {
    if (!this.#hasKeys) return owner === this.#anybody.owner ? this.#anybody : undefined;
    return (await this.#known).find(({ caller }) => caller.owner === owner)?.caller;
  }

  /**
   * The caller of a request. Rejects with `KEY_INVALID` unless it has a key as `authorization: Bearer` or as
   * `x-api-key`.
   */
  async check(headers: Headers): Promise<Caller> {
    if (!this.#hasKeys) return this.#anybody;
    const known = await this.#known;
    const bearer = /^Bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1];
    const key = bearer ?? headers.get('x-api-key') ?? undefined;
    if (key === undefined) fail('KEY_INVALID', { found: 'none' });
    const hash = await hashOf(key);
    let found: Caller | undefined;
    for (const { hash: other, caller } of known) if (differingBits(hash, other) === 0) found = caller;
    return found ?? fail('KEY_INVALID', { found: 'another one' });
  }
}

/** Nonzero if the bytes differ. Takes the same time wherever they do. */
function differingBits(a: Uint8Array, b: Uint8Array): number {
  let bits = 0;
  for (let i = 0; i < a.length; i++) bits |= (a[i] as number) ^ (b[i] as number);
  return bits;
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

async function hashOf(key: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key)));
}
