import { type ControlBlock, WORD } from '../protocol/control.ts';

/**
 * Number of checks before a worker sleeps. About 50 microseconds: longer than the usual difference between two workers'
 * chunks, shorter than twice the cost of sleeping and waking.
 */
const SPINS = 4000;

/**
 * The phase that is open, as all workers share it. Chunks belong to whoever takes them, and a phase ends when all its chunks are
 * reported: nobody waits for a worker that holds none, such as one whose core is busy with another thread. A phase stays open
 * while a worker holds a chunk that it has not reported, and so do all words that describe it.
 */
export class SharedPhase {
  readonly #words: Int32Array;

  constructor(control: ControlBlock) {
    this.#words = control.words;
  }

  /** The command of the open phase. Only for one who holds a chunk. */
  get command(): number {
    return Atomics.load(this.#words, WORD.command);
  }

  /** Which phase of its command is open. Only for one who holds a chunk. */
  get index(): number {
    return Atomics.load(this.#words, WORD.phase);
  }

  /** A number that changes after chunks become available, and when the workers run out of commands. */
  get generation(): number {
    return Atomics.load(this.#words, WORD.generation);
  }

  /** Opens a phase with that many chunks, of which the caller holds chunk 0. Only for one who has closed the last phase. */
  open(command: number, index: number, chunks: number): void {
    const words = this.#words;
    Atomics.store(words, WORD.command, command);
    Atomics.store(words, WORD.phase, index);
    Atomics.store(words, WORD.chunks, chunks);
    Atomics.store(words, WORD.reported, 0);
    if (chunks === 1) return;
    Atomics.store(words, WORD.left, chunks - 1);
    this.#announce(chunks - 1);
  }

  /** Takes a chunk of the open phase: its number, or -1 if there is none left. */
  take(): number {
    const words = this.#words;
    if (Atomics.load(words, WORD.left) <= 0) return -1;
    const left = Atomics.sub(words, WORD.left, 1);
    return left > 0 ? Atomics.load(words, WORD.chunks) - left : -1;
  }

  /** Says that chunks taken are done. True for the one who reports the last: the phase is closed. */
  report(count: number): boolean {
    const words = this.#words;
    const chunks = Atomics.load(words, WORD.chunks);
    return Atomics.add(words, WORD.reported, count) + count === chunks;
  }

  /** Releases all who wait, at the end of a command. */
  release(): void {
    this.#announce(Number.POSITIVE_INFINITY);
  }

  /** Waits until the generation is no longer the one `seen`: spins first, then sleeps. */
  wait(seen: number): void {
    const words = this.#words;
    for (let i = 0; i < SPINS; i++) if (Atomics.load(words, WORD.generation) !== seen) return;
    Atomics.add(words, WORD.sleepers, 1);
    Atomics.wait(words, WORD.generation, seen);
    Atomics.sub(words, WORD.sleepers, 1);
  }

  #announce(wanted: number): void {
    const words = this.#words;
    Atomics.add(words, WORD.generation, 1);
    if (Atomics.load(words, WORD.sleepers) > 0) Atomics.notify(words, WORD.generation, wanted);
  }
}
