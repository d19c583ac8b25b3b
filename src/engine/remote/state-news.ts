import type { EngineState } from './engine-calls.ts';

/** Milliseconds between two reports while something runs. */
const PERIOD_MS = 50;

/**
 * Reports what an engine is busy with where nobody could ask it without waiting: when a call begins or has ended, and now and then
 * between.
 */
export class StateNews {
  readonly #read: () => EngineState;
  readonly #tell: (state: EngineState) => void;
  #running = 0;
  #isDue = false;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(read: () => EngineState, tell: (state: EngineState) => void) {
    this.#read = read;
    this.#tell = tell;
  }

  /** Reports while the work goes on, and when it has ended. Settles as the work. */
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

  /** Many calls begin or end at once: that is one report. */
  #report(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.#tell(this.#read());
    });
  }
}
