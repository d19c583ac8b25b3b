import { fail } from '../../../base/errors.ts';
import type { DeviceEvent } from '../../../device/index.ts';
import type { Retirement, Work, WorkQueue } from './work-queue.ts';

/** A point in the device's queue. */
export class CpuEvent implements DeviceEvent, Work, Retirement {
  readonly #queue: WorkQueue;
  #time: number | undefined;
  #error: Error | undefined;
  #waiters: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];

  constructor(queue: WorkQueue) {
    this.#queue = queue;
    queue.push(this);
  }

  get awaited(): boolean {
    return this.#waiters.length > 0;
  }

  query(): boolean {
    if (this.#time === undefined && !this.#error) this.#queue.poll();
    if (this.#error) throw this.#error;
    return this.#time !== undefined;
  }

  async completed(): Promise<void> {
    if (this.query()) return;
    await new Promise<void>((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      this.#queue.poll();
    });
  }

  elapsedSince(earlier: DeviceEvent): number {
    const begin = earlier instanceof CpuEvent && earlier.query() ? earlier.#time : undefined;
    if (begin === undefined || !this.query() || this.#time === undefined) {
      fail('INVALID_ARGUMENT', {
        name: 'event',
        found: 'an event that is not complete or of another device',
        expected: 'two complete events of this device',
      });
    }
    return this.#time - begin;
  }

  issue(queue: WorkQueue): boolean {
    queue.afterCommands(this);
    return true;
  }

  retire(time: number): void {
    this.#time = time;
    for (const { resolve } of this.#waiters.splice(0)) resolve();
  }

  abandon(error: Error): void {
    this.#error = error;
    for (const { reject } of this.#waiters.splice(0)) reject(error);
  }
}
