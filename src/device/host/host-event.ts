import { fail } from '../../base/errors.ts';
import type { DeviceEvent } from '../stream.ts';

/** An event that the host completes, or fails with the error of earlier work. */
export class HostEvent implements DeviceEvent {
  #finishedAt: number | undefined;
  #error: unknown;
  #waiting: (() => void)[] = [];

  /** True once `finish` was called. */
  get finished(): boolean {
    return this.#finishedAt !== undefined;
  }

  /** The error of earlier work, if any. */
  get error(): unknown {
    return this.#error;
  }

  /** Marks the point as reached; `error` is that of earlier work. */
  finish(error?: unknown): void {
    this.#error = error;
    this.#finishedAt = performance.now();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const listener of waiting) listener();
  }

  /** Calls back once the point is reached, immediately if it already is. */
  whenFinished(listener: () => void): void {
    if (this.finished) listener();
    else this.#waiting.push(listener);
  }

  query(): boolean {
    if (this.#error !== undefined) throw this.#error;
    return this.finished;
  }

  completed(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.whenFinished(() => (this.#error === undefined ? resolve() : reject(this.#error)));
    });
  }

  elapsedSince(earlier: DeviceEvent): number {
    const from = earlier instanceof HostEvent ? earlier.#finishedAt : undefined;
    if (from === undefined || this.#finishedAt === undefined) {
      fail('INVALID_ARGUMENT', {
        name: 'elapsedSince',
        found: 'an event that has not completed',
        expected: 'two completed events of one device',
      });
    }
    return this.#finishedAt - from;
  }
}
