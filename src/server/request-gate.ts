import { fail } from '../base/errors.ts';
import type { Tenant } from './tenant.ts';

/** Weight of the latest request's duration in the moving average. */
const WEIGHT = 0.2;

/** A request's place at the gate; disposing it leaves. */
export interface Admission extends Disposable {
  /** Counts the number of sequences that the request runs at once. Throws `SERVER_BUSY`. */
  reserve(sequences: number): void;
}

/**
 * Counts running and waiting sequences, and limits those of each tenant, so that one tenant cannot crowd out the
 * others. Retry times are estimated from the durations of earlier requests.
 */
export class RequestGate {
  #active = 0;
  readonly #places = new Map<Tenant, { requests: number; sequences: number }>();
  #meanSeconds = 1;
  #idle: (() => void)[] = [];

  constructor(
    /** Sequences that can run at once. */
    readonly parallel: number,
    /** Additional sequences of a tenant that may wait. */
    readonly queue: number,
  ) {}

  /** Running and waiting requests. */
  get active(): number {
    return this.#active;
  }

  /** Admits a request with one sequence until the result is disposed. Throws `SERVER_BUSY` and `RATE_LIMITED`. */
  admit(tenant: Tenant): Admission {
    const places = this.#places.get(tenant) ?? { requests: 0, sequences: 0 };
    if (places.requests >= tenant.concurrency) {
      fail('RATE_LIMITED', {
        limit: `${tenant.concurrency} requests at a time`,
        seconds: this.retrySeconds(),
      });
    }
    this.#reserve(places, 1);
    this.#places.set(tenant, places);
    places.requests++;
    this.#active++;
    const begin = performance.now();
    let own = 1;
    return {
      reserve: (sequences) => {
        if (own === 0 || sequences <= own) return;
        this.#reserve(places, sequences - own);
        own = sequences;
      },
      [Symbol.dispose]: () => {
        if (own === 0) return;
        places.sequences -= own;
        own = 0;
        if (--places.requests === 0) this.#places.delete(tenant);
        this.#leave((performance.now() - begin) / 1000);
      },
    };
  }

  /** Seconds, at least 1, until a place is likely to be free. */
  retrySeconds(): number {
    const turns = Math.max(1, this.#active - this.parallel) / this.parallel;
    return Math.min(60, Math.max(1, Math.ceil(turns * this.#meanSeconds)));
  }

  /** Resolves when no request is inside. */
  async empty(): Promise<void> {
    while (this.#active > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #reserve(places: { sequences: number }, by: number): void {
    if (places.sequences + by > this.parallel + this.queue) {
      fail('SERVER_BUSY', { active: places.sequences, seconds: this.retrySeconds() });
    }
    places.sequences += by;
  }

  #leave(seconds: number): void {
    this.#active--;
    this.#meanSeconds += WEIGHT * (seconds - this.#meanSeconds);
    if (this.#active === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }
}
