import { beforeAbort } from '../base/before-abort.ts';

/** One who wants in: waits first, holds the lock then. */
class Holder {
  readonly entered: Promise<void>;
  enter: () => void = () => {};
  refuse: (error: Error) => void = () => {};

  constructor(readonly wantsAlone: boolean) {
    this.entered = new Promise((resolve, reject) => {
      this.enter = resolve;
      this.refuse = reject;
    });
  }
}

/** Lets many holders in together or one alone, in the order of asking: nobody overtakes one who waits to be alone. */
export class SharedLock {
  #waiting: Holder[] = [];
  readonly #inside = new Set<Holder>();

  /**
   * Resolves, when nobody is alone, with what ends the holder's share. Rejects with `ABORTED` as soon as the signal fires: it
   * is as if nobody had asked then.
   */
  share(signal?: AbortSignal): Promise<() => void> {
    return this.#ask(new Holder(false), signal);
  }

  /** Resolves, when everybody else has left, with what ends the holder's turn. Rejects as `share`. */
  alone(signal?: AbortSignal): Promise<() => void> {
    return this.#ask(new Holder(true), signal);
  }

  /** Rejects all who wait: those who hold it may never leave. */
  refuse(error: Error): void {
    for (const holder of this.#waiting.splice(0)) holder.refuse(error);
  }

  async #ask(holder: Holder, signal: AbortSignal | undefined): Promise<() => void> {
    this.#waiting.push(holder);
    this.#letIn();
    try {
      await beforeAbort(holder.entered, signal, 'waiting for the device');
      return () => this.#leave(holder);
    } catch (error) {
      // It may have been let in at the very moment of giving up.
      this.#leave(holder);
      throw error;
    }
  }

  #letIn(): void {
    for (let [next] = this.#waiting; next; [next] = this.#waiting) {
      const [someone] = this.#inside;
      if (someone && (someone.wantsAlone || next.wantsAlone)) return;
      this.#waiting.shift();
      this.#inside.add(next);
      next.enter();
    }
  }

  #leave(holder: Holder): void {
    this.#inside.delete(holder);
    this.#waiting = this.#waiting.filter((waiting) => waiting !== holder);
    this.#letIn();
  }
}
