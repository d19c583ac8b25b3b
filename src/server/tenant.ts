import { fail } from '../base/errors.ts';

/** A key that requests may use, and its limits. */
export interface ApiKey {
  readonly key: string;
  /**
   * The name of its owner in logs and errors. Default: `key` and its index. Keys with the same name share one share.
   */
  readonly name?: string | undefined;
  /** Maximum running and waiting requests. Default: no limit of its own. */
  readonly concurrency?: number | undefined;
  /** Maximum requests per minute. Default: no limit. */
  readonly requestsPerMinute?: number | undefined;
  /** Whether its requests may set a `priority`. Default false. */
  readonly mayPrioritize?: boolean | undefined;
}

/** The owner of requests: tracks what a key has used of its limits. */
export class Tenant {
  readonly name: string;
  readonly concurrency: number;
  readonly mayPrioritize: boolean;
  readonly #perMinute: number;
  /** Requests that may come at once (a token bucket), and the time at which that was computed. */
  #allowed: number;
  #at = performance.now();

  /** Throws `INVALID_ARGUMENT` for limits that would refuse everything. */
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

  /** Counts a request. Throws `RATE_LIMITED` if there were too many in the last minute. */
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
