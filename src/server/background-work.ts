import { type AsyncPool, lanes } from '../base/async-pool.ts';

/** The priority of background responses: whatever a client waits for comes first. */
export const BACKGROUND_PRIORITY = 2 ** 19;

/** The priority of batches: all else comes first. */
export const BATCH_PRIORITY = 2 ** 20;

/** Work that began with a request, until it has ended. */
interface Running {
  readonly call: { abort(): void };
  readonly ended: Promise<void>;
}

/** Work that continues when its client has a response: background responses and batches. */
export class BackgroundWork {
  readonly #running = new Map<string, Running>();
  readonly #lanes: AsyncPool<number>;

  /** `lanesOfBatches`: parts of batches that are carried out at once, however many batches there are. */
  constructor(lanesOfBatches: number) {
    this.#lanes = lanes(lanesOfBatches);
  }

  /** Carries out a part of a batch once it is its turn. */
  async inLane<T>(work: () => Promise<T>): Promise<T> {
    const lane = await this.#lanes.take();
    try {
      return await work();
    } finally {
      this.#lanes.give(lane);
    }
  }

  /** Runs work under a name. It must not reject; aborting the call ends it. */
  start(name: string, call: { abort(): void }, work: () => Promise<void>): void {
    const ended = work().finally(() => this.#running.delete(name));
    this.#running.set(name, { call, ended });
  }

  /** Whether work of this name has not ended. */
  isRunning(name: string): boolean {
    return this.#running.has(name);
  }

  /** Aborts the work of this name, if there is any, and resolves when it has ended. */
  async cancel(name: string): Promise<void> {
    const running = this.#running.get(name);
    running?.call.abort();
    await running?.ended;
  }

  /** Aborts all work, and resolves when it has ended. */
  async end(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((name) => this.cancel(name)));
  }
}
