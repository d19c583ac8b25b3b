import type { Address } from '../../../device/index.ts';
import type { Scheduler } from '../platform.ts';

/** Something whose completion can be polled. */
export interface Pollable {
  /** What is on one stream completes in the order of `place`. */
  readonly stream: Address;
  /** From `CompletionPoller.place`. */
  readonly place: number;
  /** True if there is nothing left to wait for. */
  poll(): boolean;
}

/** After this long, the thread rests between polls. */
const PATIENCE_MILLISECONDS = 50;
const PAUSE_MILLISECONDS = 1;

/**
 * Polls for completion in event-loop turns: a driver's own blocking wait takes 400 µs to wake up and blocks the thread,
 * while a poll costs a microsecond. Of each stream, only the first that is not complete is asked: there are many on few streams
 * while a model is loaded.
 */
export class CompletionPoller {
  readonly #scheduler: Scheduler;
  readonly #now: () => number;
  /** In the order of their places. */
  readonly #watched: Pollable[] = [];
  /** What listeners add while the others are asked. */
  readonly #added: Pollable[] = [];
  /** Streams of which something is not complete, while they are asked. */
  readonly #busy = new Set<Address>();
  /** One function for all turns: there are many, and none should create garbage. */
  readonly #nextTurn = () => this.#turn();
  #running = false;
  #isAsking = false;
  #lastEnd = 0;
  #lastPlace = 0;

  constructor(scheduler: Scheduler, now: () => number = () => performance.now()) {
    this.#scheduler = scheduler;
    this.#now = now;
  }

  /** A place behind all that were given before. */
  place(): number {
    return ++this.#lastPlace;
  }

  watch(object: Pollable): void {
    if (this.#isAsking) this.#added.push(object);
    else this.#insert(object);
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

  /** Asks the first of each stream, and those behind it as long as they are done; true if some are. */
  #dropDone(): boolean {
    const watched = this.#watched;
    let open = 0;
    this.#isAsking = true;
    this.#busy.clear();
    for (const object of watched) {
      if (!this.#busy.has(object.stream)) {
        if (object.poll()) continue;
        this.#busy.add(object.stream);
      }
      watched[open++] = object;
    }
    this.#isAsking = false;
    const anyDone = open < watched.length;
    watched.length = open;
    for (const object of this.#added) this.#insert(object);
    this.#added.length = 0;
    return anyDone;
  }

  /** Nearly always at the end. */
  #insert(object: Pollable): void {
    const watched = this.#watched;
    let at = watched.length;
    while (at > 0 && (watched[at - 1] as Pollable).place > object.place) at--;
    watched.splice(at, 0, object);
  }
}
