import type { Scheduler } from '../platform.ts';

/** Something that can be asked whether it is done. */
export interface Pollable {
  /** True when there is nothing left to wait for. */
  poll(): boolean;
}

/** After this long, the thread is left alone between questions. */
const PATIENCE_MILLISECONDS = 50;
const PAUSE_MILLISECONDS = 1;

/**
 * Asks for the end of what is waited for, in turns of the event loop: a driver's own blocking wait takes 400 µs to wake and
 * stops the thread, a question costs a microsecond.
 */
export class CompletionPoller {
  readonly #scheduler: Scheduler;
  readonly #now: () => number;
  #watched: Pollable[] = [];
  #running = false;
  #lastEnd = 0;

  constructor(scheduler: Scheduler, now: () => number = () => performance.now()) {
    this.#scheduler = scheduler;
    this.#now = now;
  }

  watch(object: Pollable): void {
    this.#watched.push(object);
    if (this.#running) return;
    this.#running = true;
    this.#lastEnd = this.#now();
    this.#scheduler.soon(() => this.#turn());
  }

  #turn(): void {
    const watched = this.#watched;
    this.#watched = [];
    const open = watched.filter((object) => !object.poll());
    if (open.length < watched.length) this.#lastEnd = this.#now();
    // What was watched meanwhile, by listeners, stands behind.
    this.#watched = [...open, ...this.#watched];
    if (this.#watched.length === 0) this.#running = false;
    else if (this.#now() - this.#lastEnd < PATIENCE_MILLISECONDS) this.#scheduler.soon(() => this.#turn());
    else this.#scheduler.later(() => this.#turn(), PAUSE_MILLISECONDS);
  }
}
