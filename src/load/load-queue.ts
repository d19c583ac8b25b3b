import type { WeightLoad } from './lazy-tensor.ts';

/** Loads with chunks left, in order of request; those that something is waiting for come first. */
export class LoadQueue {
  #urgent: WeightLoad[] = [];
  #ordinary: WeightLoad[] = [];

  /** The load whose chunk is next. Loads that failed or have no chunks left are dropped. */
  next(): WeightLoad | undefined {
    this.#urgent = dropEnded(this.#urgent);
    if (this.#urgent[0]) return this.#urgent[0];
    this.#ordinary = dropEnded(this.#ordinary);
    return this.#ordinary[0];
  }

  add(load: WeightLoad): void {
    this.#ordinary.push(load);
  }

  /** Gives priority to a load that something is waiting for. */
  hurry(load: WeightLoad): void {
    const at = this.#ordinary.indexOf(load);
    if (at < 0) return;
    this.#ordinary.splice(at, 1);
    this.#urgent.push(load);
  }

  /** Fails all loads in the queue. */
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
