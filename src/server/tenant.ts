import { fail } from '../base/errors.ts';

/** A key that requests may carry, and what it allows. */
export interface ApiKey {
  readonly key: string;
  /** What the log and errors call its owner. Default: `key` and its place in the list. Keys of one name have one share. */
  readonly name?: string | undefined;
  /** Most requests that generate or wait at a time. Default: as many as the server takes. */
  readonly concurrency?: number | undefined;
  /** Most requests a minute. Default: no limit. */
  readonly requestsPerMinute?: number | undefined;
  /** Whether its requests may choose a `priority`. Default false. */
  readonly mayPrioritize?: boolean | undefined;
}

/** Whose requests are: what those of a key have had of their share. */
export class Tenant {
  readonly name: string;
  readonly concurrency: number;
  readonly mayPrioritize: boolean;
  readonly #perMinute: number;
  /** Requests that may come at once (a token bucket), and when that was so. */
  #allowed: number;
  #at = performance.now();

  /** Throws `INVALID_ARGUMENT` for limits that let nothing through. */
  constructor(name: string, of: Omit<ApiKey, 'key' | 'name'> = {}) {
    const { concurrency = Number.POSITIVE_INFINITY, requestsPerMinute = Number.POSITIVE_INFINITY } = of;
    for (const [limit, value] of Object.entries({ concurrency, requestsPerMinute })) {
      if (value >= 1) continue;
      fail('INVALID_ARGUMENT', { name: limit, found: `${value}`, expected: 'at least 1' });
    }
    this.name = name;
    this.concurrency = concurrency;
    this.mayPrioritize = of.mayPrioritize ?? false;
    this.#perMinute = requestsPerMinute;
    this.#allowed = requestsPerMinute;
  }

  /** Counts a request. Throws `RATE_LIMITED` where there were too many in the last minute. */
  count(): void {
    if (this.#perMinute === Number.POSITIVE_INFINITY) return;
    const now = performance.now();
    const refilled = this.#allowed + ((now - this.#at) / 60_000) * this.#perMinute;
    this.#allowed = Math.min(this.#perMinute, refilled);
    this.#at = now;
    if (this.#allowed < 1) {
      const seconds = Math.ceil(((1 - this.#allowed) * 60) / this.#perMinute);
      fail('RATE_LIMITED', { limit: `${this.#perMinute} requests a minute`, seconds });
    }
    this.#allowed--;
  }
}
