/** Work that began with a request, until it has ended. */
interface Running {
  readonly call: { abort(): void };
  readonly ended: Promise<void>;
}

/** Work that continues when its client has a response: background responses and batches. */
export class BackgroundWork {
  readonly #running = new Map<string, Running>();

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
