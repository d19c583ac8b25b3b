import { fail } from '../../base/errors.ts';
import type { DeviceEvent } from '../../device/index.ts';

/** A point in a remote stream: reached when the other side says so. */
export class RemoteEvent implements DeviceEvent {
  readonly #arrival: Promise<void>;
  #reachedAt: number | undefined;
  #error: Error | undefined;
  #resolve: () => void = () => {};
  #reject: (error: Error) => void = () => {};

  constructor(
    /** The number by which both sides name it. */
    readonly id: number,
    /** Whose it is. */
    readonly owner: object,
  ) {
    this.#arrival = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Whoever waits for it gets the error.
    this.#arrival.catch(() => {});
  }

  /** `time`: milliseconds by the other side's clock. */
  reach(time: number): void {
    this.#reachedAt = time;
    this.#resolve();
  }

  fail(error: Error): void {
    this.#error ??= error;
    this.#reject(error);
  }

  query(): boolean {
    if (this.#error) throw this.#error;
    return this.#reachedAt !== undefined;
  }

  completed(): Promise<void> {
    return this.#arrival;
  }

  /** By the times at which the other side saw them complete. */
  elapsedSince(earlier: DeviceEvent): number {
    const from = earlier instanceof RemoteEvent ? earlier.#reachedAt : undefined;
    if (from === undefined || this.#reachedAt === undefined) {
      const expected = 'two completed events of one device';
      fail('INVALID_ARGUMENT', { name: 'elapsedSince', found: 'an event that has not completed', expected });
    }
    return this.#reachedAt - from;
  }
}
