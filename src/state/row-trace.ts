import { invariant } from '../base/errors.ts';

/** Positions, one behind the other, that were computed by plans of one row capacity. */
export interface TracedRows {
  readonly count: number;
  readonly capacity: number;
}

/**
 * Which plan computed each position of a sequence. Plans of different capacities may round differently: what is computed
 * again by the same ones comes out the same, bit for bit.
 */
export class RowTrace {
  readonly #runs: { count: number; capacity: number }[] = [];
  #length = 0;

  /** Positions whose plan is known. */
  get length(): number {
    return this.#length;
  }

  /** Notes that positions from `first` on are computed by a plan of `capacity`; what was behind them is forgotten. */
  note(first: number, count: number, capacity: number): void {
    invariant(first <= this.#length, 'rows are computed in the order of their positions');
    this.truncate(first);
    const last = this.#runs.at(-1);
    if (last?.capacity === capacity) last.count += count;
    else this.#runs.push({ count, capacity });
    this.#length += count;
  }

  /** Forgets all but the first `length` positions. */
  truncate(length: number): void {
    while (this.#length > length) {
      const last = this.#runs.at(-1) as { count: number };
      const surplus = Math.min(last.count, this.#length - length);
      last.count -= surplus;
      this.#length -= surplus;
      if (last.count === 0) this.#runs.pop();
    }
  }

  /** The run that a position lies in, from that position on. */
  from(position: number): TracedRows {
    let end = 0;
    for (const { count, capacity } of this.#runs) {
      end += count;
      if (position < end) return { count: end - position, capacity };
    }
    return { count: 0, capacity: 0 };
  }

  /** The first `length` positions, as a trace of their own. */
  slice(length: number): RowTrace {
    const part = new RowTrace();
    for (const { count, capacity } of this.#runs) part.note(part.length, count, capacity);
    part.truncate(length);
    return part;
  }
}
