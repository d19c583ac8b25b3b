import type { QueuedEvent } from './queued-event.ts';
import type { DeviceEvent } from './stream.ts';

/** Work that has reached the front of the queue; a promise holds back what is behind it. */
type Work = () => void | Promise<void>;

/**
 * The work of a stream that hands it on to those of one or several devices: in the order of the calls, at once unless something before
 * it has to wait for the host.
 */
export class WorkQueue {
  readonly #waiting: Work[] = [];
  #busy = false;
  #error: unknown;

  /** Queues work that is skipped if something failed before. */
  push(work: Work): void {
    this.#enqueue(() => (this.#error === undefined ? work() : undefined));
  }

  /** Queues something with a result that nothing behind it waits for. Rejects with the first error of the queue. */
  result<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#enqueue(() => {
        if (this.#error !== undefined) return reject(this.#error);
        // Work may also throw before it has a promise.
        const started = async () => await work();
        started().then(resolve, (error: unknown) => reject(this.#fail(error)));
      });
    });
  }

  /** Queues an event, which fails if something before it has, or if it cannot be recorded. */
  reach(event: QueuedEvent, record: () => readonly DeviceEvent[]): void {
    this.#enqueue(() => {
      if (this.#error !== undefined) return event.fail(this.#error);
      try {
        event.reach(record());
      } catch (error) {
        event.fail(this.#fail(error));
      }
    });
  }

  #enqueue(work: Work): void {
    this.#waiting.push(work);
    if (!this.#busy) this.#drain();
  }

  /** Works until the queue is empty or has to wait for the host. */
  #drain(): void {
    this.#busy = true;
    for (let work = this.#waiting.shift(); work; work = this.#waiting.shift()) {
      const waiting = this.#attempt(work);
      if (!waiting) continue;
      waiting.then(
        () => this.#drain(),
        (error: unknown) => {
          this.#fail(error);
          this.#drain();
        },
      );
      return;
    }
    this.#busy = false;
  }

  #attempt(work: Work): void | Promise<void> {
    try {
      return work();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Keeps the first error, which later work rejects with. */
  #fail(error: unknown): unknown {
    this.#error ??= error;
    return this.#error;
  }
}
