import type { Scheduler } from '../platform.ts';

/** Something whose completion can be polled. */
export interface Pollable {
  /** True if there is nothing left to wait for. */
  poll(): boolean;
}

/** After this long, the thread rests between polls. */
const PATIENCE_MILLISECONDS = 50;
const PAUSE_MILLISECONDS = 1;

/**
 * Polls for completion in event-loop turns: a driver's own blocking wait takes 400 µs to wake up and blocks the thread,
 * while a poll costs a microsecond.
 */
export class CompletionPoller {
  readonly #scheduler: Scheduler;
  readonly #now: () => number;
  readonly #watched: Pollable[] = [];
  /** One function for all turns: there are many, and none should create garbage. */
  readonly #nextTurn = () => this.#turn();
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
    this.#scheduler.soon(this.#nextTurn);
  }

  #turn(): void {
    if (this.#dropDone()) this.#lastEnd = this.#now();
    if (this.#watched.length === 0) this.#running = false;
    else if (this.#now() - this.#lastEnd < PATIENCE_MILLISECONDS) this.#scheduler.soon(this.#nextTurn);
    else this.#scheduler.later(this.#nextTurn, PAUSE_MILLISECONDS);
  }

  /** Polls all once, in order; true if some are done. What listeners add meanwhile comes after them. */
  #dropDone(): boolean {
    const watched = this.#watched;
    const asked = watched.length;
    let open = 0;
    for (let i = 0; i < asked; i++) {
      const object = watched[i] as Pollable;
      if (!object.poll()) watched[open++] = object;
    }
    if (open === asked) return false;
    watched.copyWithin(open, asked);
    watched.length -= asked - open;
    return true;
  }
}
