import { beforeAbort } from '../base/before-abort.ts';

/** A request for the lock: it waits, then holds it. */
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

/** A fair readers-writer lock: many share it or one has it alone, in the order of asking. */
export class SharedLock {
  #waiting: Holder[] = [];
  readonly #inside = new Set<Holder>();

  /**
   * Resolves with the function that releases it once no exclusive holder is left. Rejects with `ABORTED` as soon as the
   * signal fires, and gives up its place then.
   */
  share(signal?: AbortSignal): Promise<() => void> {
    return this.#ask(new Holder(false), signal);
  }

  /** Resolves with the function that releases it once nobody else holds it. Rejects as `share`. */
  alone(signal?: AbortSignal): Promise<() => void> {
    return this.#ask(new Holder(true), signal);
  }

  /** Rejects all waiting requests: the holders may never release it. */
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
