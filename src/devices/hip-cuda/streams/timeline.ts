import type { Address } from '../../../device/index.ts';
import type { Driver } from '../driver/driver.ts';
import type { EventPool } from './event-pool.ts';

/**
 * The device's clock. Drivers only report the time between two events, as a float: so the latest event is kept, and
 * each new one is measured against it. An event's handle is free again as soon as its time is known, and rounding
 * errors do not grow with the device's age.
 */
export class Timeline {
  readonly #driver: Driver;
  readonly #events: EventPool;
  #latest: { readonly handle: Address; readonly time: number } | undefined;

  constructor(driver: Driver, events: EventPool) {
    this.#driver = driver;
    this.#events = events;
  }

  /** Milliseconds from the first event to a reached one. Takes over the handle. */
  place(handle: Address): number {
    const before = this.#latest;
    const time = before ? before.time + this.#driver.elapsed(before.handle, handle) : 0;
    if (before) this.#events.give(before.handle);
    this.#latest = { handle, time };
    return time;
  }

  dispose(): void {
    if (this.#latest) this.#events.give(this.#latest.handle);
    this.#latest = undefined;
  }
}
