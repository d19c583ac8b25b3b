import type { Address } from '../../../device/index.ts';
import type { Driver } from '../driver/driver.ts';
import type { EventPool } from './event-pool.ts';

/**
 * The device's clock. Drivers tell only the time between two events, as a float: so the latest event seen is kept, and
 * each new one is placed against it. An event's handle is free again as soon as its time is known, and rounding does not grow
 * with the device's age.
 */
export class Timeline {
  readonly #driver: Driver;
  readonly #events: EventPool;
  #latest: { readonly handle: Address; readonly time: number } | undefined;

  constructor(driver: Driver, events: EventPool) {
    this.#driver = driver;
    this.#events = events;
  }

  /** Milliseconds of a reached event since the first one. Takes the handle over. */
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
