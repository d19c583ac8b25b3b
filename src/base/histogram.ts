/** Buckets of a doubling. */
const FINENESS = 8;
const LEAST = 2 ** -10;
const BUCKETS = 34 * FINENESS;

/** Durations in milliseconds, counted by size: buckets of a twelfth more each, from a microsecond to hours. */
export class Histogram {
  readonly #counts = new Uint32Array(BUCKETS);
  #count = 0;
  #total = 0;
  #most = 0;

  add(milliseconds: number): void {
    const at = Math.round(FINENESS * Math.log2(Math.max(milliseconds, LEAST) / LEAST));
    const bucket = Math.min(BUCKETS - 1, at);
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#count++;
    this.#total += milliseconds;
    this.#most = Math.max(this.#most, milliseconds);
  }

  get count(): number {
    return this.#count;
  }

  /** The sum of all. */
  get total(): number {
    return this.#total;
  }

  /** The largest; 0 of none. */
  get most(): number {
    return this.#most;
  }

  /** The mean; 0 of none. */
  get mean(): number {
    return this.#count === 0 ? 0 : this.#total / this.#count;
  }

  /** What a share of them does not exceed, within a bucket's width; 0 of none. */
  quantile(share: number): number {
    const rank = Math.max(1, Math.ceil(share * this.#count));
    let seen = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      seen += this.#counts[bucket] as number;
      if (seen >= rank) return Math.min(this.#most, LEAST * 2 ** (bucket / FINENESS));
    }
    return 0;
  }
}
