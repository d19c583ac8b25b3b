import { fail } from '../base/errors.ts';

/** How much of the latest request's duration goes into the mean. */
const WEIGHT = 0.2;

/**
 * Counts the requests that generate or wait for it, and refuses more than a limit. What it tells those to wait is what the
 * requests before them took.
 */
export class RequestGate {
  #active = 0;
  #meanSeconds = 1;
  #idle: (() => void)[] = [];

  constructor(
    /** Requests that run at once. */
    readonly parallel: number,
    /** Requests that may wait beyond those. */
    readonly queue: number,
  ) {}

  /** Requests that run or wait. */
  get active(): number {
    return this.#active;
  }

  /** Lets a request in until what it gets is disposed. Throws `SERVER_BUSY`. */
  enter(): Disposable {
    if (this.#active >= this.parallel + this.queue) {
      fail('SERVER_BUSY', { active: this.#active, seconds: this.retrySeconds() });
    }
    this.#active++;
    const begin = performance.now();
    let isInside = true;
    return {
      [Symbol.dispose]: () => {
        if (!isInside) return;
        isInside = false;
        this.#leave((performance.now() - begin) / 1000);
      },
    };
  }

  /** Seconds, at least 1, after which a place is likely to be free. */
  retrySeconds(): number {
    const turns = Math.max(1, this.#active - this.parallel) / this.parallel;
    return Math.min(60, Math.max(1, Math.ceil(turns * this.#meanSeconds)));
  }

  /** Resolves when nobody is inside. */
  async empty(): Promise<void> {
    while (this.#active > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #leave(seconds: number): void {
    this.#active--;
    this.#meanSeconds += WEIGHT * (seconds - this.#meanSeconds);
    if (this.#active === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }
}
