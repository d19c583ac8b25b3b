import { fail, invariant } from '../../../base/errors.ts';
import type { Address, DeviceEvent } from '../../../device/index.ts';
import type { Driver } from '../driver/driver.ts';
import type { CompletionPoller } from './completion-poller.ts';
import type { EventPool } from './event-pool.ts';
import type { Timeline } from './timeline.ts';

/** What an event needs of its device. */
export interface EventSetup {
  readonly driver: Driver;
  readonly events: EventPool;
  readonly timeline: Timeline;
  readonly poller: CompletionPoller;
}

/**
 * A point in a HIP or CUDA stream. It holds a driver event from its recording until its completion is observed;
 * disposing it earlier is possible but never necessary.
 */
export class HipEvent implements DeviceEvent, Disposable {
  /** As `Pollable`. @internal */
  readonly stream: Address;
  /** As `Pollable`. @internal */
  readonly place: number;
  readonly #setup: EventSetup;
  #handle: Address | undefined;
  #settled = false;
  #time: number | undefined;
  #error: unknown;
  #waiting: (() => void)[] = [];

  private constructor(setup: EventSetup, stream: Address) {
    this.#setup = setup;
    this.stream = stream;
    this.place = setup.poller.place();
  }

  /** Records a point after everything queued on the stream. */
  static record(setup: EventSetup, stream: Address): HipEvent {
    const event = new HipEvent(setup, stream);
    const handle = setup.events.take();
    try {
      setup.driver.recordEvent(handle, stream);
    } catch (error) {
      setup.events.give(handle);
      throw error;
    }
    event.#handle = handle;
    setup.events.watch(event, handle);
    return event;
  }

  /** An event after failed work. */
  static failed(setup: EventSetup, stream: Address, error: unknown): HipEvent {
    const event = new HipEvent(setup, stream);
    event.#error = error;
    event.#settled = true;
    return event;
  }

  /** The driver's event; undefined once completion was observed, or the device is disposed. */
  get handle(): Address | undefined {
    this.#outliveDevice();
    return this.#handle;
  }

  /** The error of work before it, as far as known. */
  get error(): unknown {
    return this.#error;
  }

  query(): boolean {
    this.poll();
    if (this.#error !== undefined) throw this.#error;
    return this.#settled;
  }

  completed(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.whenSettled(() => (this.#error === undefined ? resolve() : reject(this.#error)));
    });
  }

  /** Waits without letting other work run. For opening a device, not for the token loop. */
  synchronize(): void {
    const { handle } = this;
    if (handle !== undefined) this.#setup.driver.synchronizeEvent(handle);
    invariant(this.query(), 'an event that was waited for is reached');
  }

  elapsedSince(earlier: DeviceEvent): number {
    const from = this.#isBeside(earlier) && earlier.query() ? earlier.#time : undefined;
    if (from === undefined || !this.query() || this.#time === undefined) {
      const found = 'an event that has not completed, or of another device';
      fail('INVALID_ARGUMENT', {
        name: 'elapsedSince',
        found,
        expected: 'two completed events of one device',
      });
    }
    return this.#time - from;
  }

  /** Calls back once the point is reached or has failed, immediately if it already is. */
  whenSettled(listener: () => void): void {
    if (this.#settled) {
      listener();
      return;
    }
    this.#waiting.push(listener);
    if (this.#waiting.length === 1) this.#setup.poller.watch(this);
  }

  /** Polls the driver; true if there is nothing left to wait for. */
  poll(): boolean {
    this.#outliveDevice();
    if (this.#settled || this.#handle === undefined) return true;
    try {
      if (!this.#setup.driver.queryEvent(this.#handle)) return false;
      this.#time = this.#setup.timeline.place(this.#handle);
    } catch (error) {
      this.#error = error;
      this.#setup.events.give(this.#handle);
    }
    this.#setup.events.unwatch(this);
    this.#handle = undefined;
    this.#settle();
    return true;
  }

  /** Does nothing while something waits for it. */
  [Symbol.dispose](): void {
    if (this.#handle === undefined || this.#waiting.length > 0) return;
    this.#setup.events.unwatch(this);
    this.#setup.events.give(this.#handle);
    this.#handle = undefined;
    this.#settle();
  }

  /** True for an event of the same device. */
  #isBeside(other: DeviceEvent): other is HipEvent {
    return other instanceof HipEvent && other.#setup.timeline === this.#setup.timeline;
  }

  /** A disposed device has waited for all its work, and has no events any more. */
  #outliveDevice(): void {
    if (this.#handle === undefined || this.#setup.events.holds(this.#handle)) return;
    this.#handle = undefined;
    this.#settle();
  }

  #settle(): void {
    this.#settled = true;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const listener of waiting) listener();
  }
}
