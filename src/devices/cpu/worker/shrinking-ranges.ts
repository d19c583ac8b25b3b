/**
 * Ranges of a product's columns that become smaller: the first ones are long, which costs least, and the last ones short, so that all
 * threads end at about the same time. "Guided self-scheduling: a practical scheduling scheme for parallel supercomputers", Polychronopoulos
 * and Kuck, 1987, with half of an even share of what is left.
 */
export class ShrinkingRanges {
  /** Where each range begins, and at last where all end. */
  readonly #bounds: Int32Array;

  /** Ranges have multiples of `least` columns, but for the last one. */
  constructor(columns: number, least: number, threads: number) {
    const bounds = [0];
    for (let at = 0; at < columns; bounds.push(at)) {
      const share = (columns - at) / (2 * threads);
      at = Math.min(columns, at + Math.ceil(share / least) * least);
    }
    this.#bounds = Int32Array.from(bounds);
  }

  get count(): number {
    return this.#bounds.length - 1;
  }

  begin(range: number): number {
    return this.#bounds[range] as number;
  }

  end(range: number): number {
    return this.#bounds[range + 1] as number;
  }
}
