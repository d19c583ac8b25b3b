import type { WeightLoad } from './lazy-tensor.ts';

/** Loads that still have chunks to hand out, in the order of asking; urgent ones go first, in their own order. */
export class LoadQueue {
  #urgent: WeightLoad[] = [];
  #ordinary: WeightLoad[] = [];

  /** The load whose chunk is moved next. Loads that failed or have nothing left drop out. */
  next(): WeightLoad | undefined {
    this.#urgent = dropEnded(this.#urgent);
    if (this.#urgent[0]) return this.#urgent[0];
    this.#ordinary = dropEnded(this.#ordinary);
    return this.#ordinary[0];
  }

  add(load: WeightLoad): void {
    this.#ordinary.push(load);
  }

  /** Gives priority to a load that somebody waits for. */
  hurry(load: WeightLoad): void {
    const at = this.#ordinary.indexOf(load);
    if (at < 0) return;
    this.#ordinary.splice(at, 1);
    this.#urgent.push(load);
  }

  /** Fails everything that waits. */
  fail(error: unknown): void {
    for (const load of [...this.#urgent, ...this.#ordinary]) load.fail(error);
    this.#urgent = [];
    this.#ordinary = [];
  }
}

function dropEnded(loads: WeightLoad[]): WeightLoad[] {
  const first = loads.findIndex(({ hasMore }) => hasMore);
  return first === 0 ? loads : loads.slice(first < 0 ? loads.length : first);
}
