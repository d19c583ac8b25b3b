import type { Address } from '../../../device/index.ts';

/** A rank's step, and who waits for it. */
interface Brought<Part> {
  readonly part: Part;
  readonly resolve: (executable: Address) => void;
  readonly reject: (error: unknown) => void;
}

/** Steps of all ranks that are captured together, once each rank has brought its own. `Part`: what is captured on one device. */
export class CaptureMeeting<Part> {
  readonly #brought: (Brought<Part> | undefined)[];
  #arrived = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(ranks: number) {
    this.#brought = Array.from({ length: ranks }, () => undefined);
  }

  /** Whether every rank has brought its step, or failed to. */
  get isComplete(): boolean {
    return this.#arrived === this.#brought.length;
  }

  /** Resolves with the executable graph. Rejects on all ranks if `part` of one throws. */
  bring(rank: number, part: () => Part): Promise<Address> {
    this.#arrived++;
    return new Promise((resolve, reject) => {
      try {
        const own = part();
        if (this.#failure) throw this.#failure.error;
        this.#brought[rank] = { part: own, resolve, reject };
      } catch (error) {
        reject(error);
        this.fail(error);
      }
    });
  }

  /** Captures them, unless one could not be brought. */
  hold(captureAll: (parts: readonly Part[]) => readonly Address[]): void {
    if (this.#failure) return;
    const all = this.#brought.flatMap((one) => one ?? []);
    try {
      const executables = captureAll(all.map(({ part }) => part));
      for (const [rank, { resolve }] of all.entries()) resolve(executables[rank] as Address);
    } catch (error) {
      this.fail(error);
    }
  }

  /** Rejects for all who wait, and who will. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    for (const one of this.#brought) one?.reject(error);
  }
}
