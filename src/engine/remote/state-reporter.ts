import type { EngineState } from './engine-calls.ts';

/** Milliseconds between two reports while something runs. */
const PERIOD_MS = 50;

/**
 * Reports an engine's activity to another thread, which cannot query it synchronously: when a call starts or ends, and
 * periodically in between.
 */
export class StateReporter {
  readonly #read: () => EngineState;
  readonly #tell: (state: EngineState) => void;
  #running = 0;
  #isDue = false;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(read: () => EngineState, tell: (state: EngineState) => void) {
    this.#read = read;
    this.#tell = tell;
  }

  /** Reports while the work runs, and when it has ended. Settles like the work. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.#running++;
    this.#timer ??= setInterval(() => this.#tell(this.#read()), PERIOD_MS);
    this.#report();
    try {
      return await work;
    } finally {
      if (--this.#running === 0) {
        clearInterval(this.#timer);
        this.#timer = undefined;
      }
      this.#report();
    }
  }

  /** When many calls start or end at once, one report is enough. */
  #report(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.#tell(this.#read());
    });
  }
}
