import { invariant } from '../base/errors.ts';

/** Consecutive positions that were computed by plans of one row capacity. */
export interface TracedRows {
  readonly count: number;
  readonly capacity: number;
}

/**
 * The row capacity of the plan that computed each position of a sequence. Plans of different capacities may round
 * differently; recomputing a position with the same capacity gives the same bits.
 */
export class RowTrace {
  readonly #runs: { count: number; capacity: number }[] = [];
  #length = 0;

  /** Number of positions whose plan is known. */
  get length(): number {
    return this.#length;
  }

  /** Records that positions from `first` on are computed by a plan of `capacity`, dropping any record of later ones. */
  note(first: number, count: number, capacity: number): void {
    invariant(first <= this.#length, 'rows are computed in the order of their positions');
    this.truncate(first);
    const last = this.#runs.at(-1);
    if (last?.capacity === capacity) last.count += count;
    else this.#runs.push({ count, capacity });
    this.#length += count;
  }

  /** Drops all but the first `length` positions. */
  truncate(length: number): void {
    while (this.#length > length) {
      const last = this.#runs.at(-1) as { count: number };
      const surplus = Math.min(last.count, this.#length - length);
      last.count -= surplus;
      this.#length -= surplus;
      if (last.count === 0) this.#runs.pop();
    }
  }

  /** The run that contains a position, from that position on. */
  from(position: number): TracedRows {
    let end = 0;
    for (const { count, capacity } of this.#runs) {
      end += count;
      if (position < end) return { count: end - position, capacity };
    }
    return { count: 0, capacity: 0 };
  }

  /** The first `length` positions, as a new trace. */
  slice(length: number): RowTrace {
    const part = new RowTrace();
    for (const { count, capacity } of this.#runs) part.note(part.length, count, capacity);
    part.truncate(length);
    return part;
  }
}
