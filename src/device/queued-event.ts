import { fail } from '../base/errors.ts';
import type { DeviceEvent } from './stream.ts';

/**
 * A point in a stream whose work waits for the host now and then: reached when what is before it was handed to the devices' own streams,
 * complete when all of them have done it.
 */
export class QueuedEvent implements DeviceEvent {
  /** The events of the devices' streams, once there are any. */
  readonly reached: Promise<readonly DeviceEvent[]>;
  #events: readonly DeviceEvent[] | undefined;
  #error: unknown;
  #resolve: (events: readonly DeviceEvent[]) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor() {
    this.reached = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.reached.catch(() => {});
  }

  reach(events: readonly DeviceEvent[]): void {
    this.#events = events;
    this.#resolve(events);
  }

  fail(error: unknown): void {
    this.#error = error;
    this.#reject(error);
  }

  query(): boolean {
    if (this.#error !== undefined) throw this.#error;
    return this.#events?.every((event) => event.query()) ?? false;
  }

  async completed(): Promise<void> {
    const events = await this.reached;
    await Promise.all(events.map((event) => event.completed()));
  }

  /** Of the device that took longest. */
  elapsedSince(earlier: DeviceEvent): number {
    const from = earlier instanceof QueuedEvent ? earlier.#events : undefined;
    if (!from || !this.#events) {
      const expected = 'two completed events of one device';
      fail('INVALID_ARGUMENT', { name: 'elapsedSince', found: 'an event that has not completed', expected });
    }
    return Math.max(...this.#events.map((event, index) => event.elapsedSince(from[index] as DeviceEvent)));
  }
}
