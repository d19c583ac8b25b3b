import { fail } from '../../base/errors.ts';
import type { DeviceEvent } from '../../device/index.ts';

/** A point in a group's stream: reached when its work was handed to the ranks, complete when all of them have done it. */
export class GroupEvent implements DeviceEvent {
  /** The ranks' events, once there are any. */
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

  /** Of the rank that took longest. */
  elapsedSince(earlier: DeviceEvent): number {
    const from = earlier instanceof GroupEvent ? earlier.#events : undefined;
    if (!from || !this.#events) {
      const expected = 'two completed events of one group';
      fail('INVALID_ARGUMENT', { name: 'elapsedSince', found: 'an event that has not completed', expected });
    }
    return Math.max(...this.#events.map((event, rank) => event.elapsedSince(from[rank] as DeviceEvent)));
  }
}
