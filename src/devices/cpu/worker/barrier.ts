import { WORD } from '../protocol/control.ts';

/**
 * Number of checks before a worker sleeps. About 50 microseconds: longer than the usual difference between two workers'
 * chunks, shorter than twice the cost of sleeping and waking.
 */
const SPINS = 4000;

/**
 * Waits until `words[at]` differs from `seen`: spins first, then sleeps. `sleepers`, if given, counts sleeping workers.
 */
function waitForChange(words: Int32Array, at: number, seen: number, sleepers: number): void {
  for (let i = 0; i < SPINS; i++) if (Atomics.load(words, at) !== seen) return;
  Atomics.add(words, sleepers, 1);
  while (Atomics.load(words, at) === seen) Atomics.wait(words, at, seen);
  Atomics.sub(words, sleepers, 1);
}

/**
 * The barrier of all workers between two phases. The last to arrive resets the chunk counter and releases the others.
 */
export class Barrier {
  readonly #words: Int32Array;
  readonly #threads: number;

  constructor(words: Int32Array, threads: number) {
    this.#words = words;
    this.#threads = threads;
  }

  /** Returns true immediately for the last one, which must call `release`. The others return once it has. */
  arrive(): boolean {
    const words = this.#words;
    const generation = Atomics.load(words, WORD.generation);
    if (Atomics.add(words, WORD.arrived, 1) === this.#threads - 1) return true;
    waitForChange(words, WORD.generation, generation, WORD.sleepers);
    return false;
  }

  release(): void {
    const words = this.#words;
    Atomics.store(words, WORD.chunk, 0);
    Atomics.store(words, WORD.arrived, 0);
    Atomics.add(words, WORD.generation, 1);
    if (Atomics.load(words, WORD.sleepers) > 0) Atomics.notify(words, WORD.generation);
  }

  /** Waits for the other workers. */
  pass(): void {
    if (this.arrive()) this.release();
  }
}
