import type { Address } from '../../../device/index.ts';
import type { Driver } from '../driver/driver.ts';

/** The driver's events, which are reused. An event without references returns by itself. */
export class EventPool {
  readonly #driver: Driver;
  readonly #idle: Address[] = [];
  readonly #lostOwners = new FinalizationRegistry<Address>((handle) => this.give(handle));
  /** Every driver event, including those in use. */
  readonly #all = new Set<Address>();

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  take(): Address {
    const known = this.#idle.pop();
    if (known !== undefined) return known;
    const handle = this.#driver.createEvent();
    this.#all.add(handle);
    return handle;
  }

  give(handle: Address): void {
    if (this.holds(handle)) this.#idle.push(handle);
  }

  /** False once the driver's event is destroyed. */
  holds(handle: Address): boolean {
    return this.#all.has(handle);
  }

  /** Returns the handle to the pool when `owner` is garbage-collected. */
  watch(owner: object, handle: Address): void {
    this.#lostOwners.register(owner, handle, owner);
  }

  /** The owner returns its handle itself. */
  unwatch(owner: object): void {
    this.#lostOwners.unregister(owner);
  }

  /** Destroys all events, including those in use. */
  dispose(): void {
    for (const handle of this.#all) this.#driver.destroyEvent(handle);
    this.#all.clear();
    this.#idle.length = 0;
  }
}
