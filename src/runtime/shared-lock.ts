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

/** A fair readers-writer lock: shared by many or held exclusively by one, in order of arrival. */
export class SharedLock {
  #waiting: Holder[] = [];
  readonly #inside = new Set<Holder>();

  /**
   * Resolves with a release function once no exclusive holder is left. Rejects with `ABORTED` as soon as the signal
   * fires, and leaves the queue then.
   */
  share(signal?: AbortSignal): Promise<() => void> {
    return this.#ask(new Holder(false), signal);
  }

  /** Resolves with a release function once nobody else holds it. Rejects as `share`. */
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
      // It may have acquired the lock at the very moment of the abort.
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
