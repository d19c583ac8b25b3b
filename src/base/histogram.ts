/** Buckets of a doubling. */
const FINENESS = 8;
const MIN_MS = 2 ** -10;
const BUCKETS = 34 * FINENESS;

/** Durations in milliseconds, counted by size: buckets of a twelfth more each, from a microsecond to hours. */
export class Histogram {
  readonly #counts = new Uint32Array(BUCKETS);
  #count = 0;
  #total = 0;
  #max = 0;

  add(milliseconds: number): void {
    const at = Math.round(FINENESS * Math.log2(Math.max(milliseconds, MIN_MS) / MIN_MS));
    const bucket = Math.min(BUCKETS - 1, at);
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#count++;
    this.#total += milliseconds;
    this.#max = Math.max(this.#max, milliseconds);
  }

  get count(): number {
    return this.#count;
  }

  /** The sum of all. */
  get total(): number {
    return this.#total;
  }

  /** The largest; 0 of none. */
  get max(): number {
    return this.#max;
  }

  /** The mean; 0 of none. */
  get mean(): number {
    return this.#count === 0 ? 0 : this.#total / this.#count;
  }

  /** What the part `fraction` of them does not exceed, within a bucket's width; 0 of none. */
  quantile(fraction: number): number {
    const rank = Math.max(1, Math.ceil(fraction * this.#count));
    let seen = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      seen += this.#counts[bucket] as number;
      if (seen >= rank) return Math.min(this.#max, MIN_MS * 2 ** (bucket / FINENESS));
    }
    return 0;
  }
}
