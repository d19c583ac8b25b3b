/** After this many token rows, a use counts half. */
const HALF_LIFE_ROWS = 2048;
/** Scores are divided by this before they overflow. */
const MAX_SCORE = 2 ** 100;

/** How often each expert of a layer was used of late: counts that decay, so that they follow what texts are about. */
export class ExpertScores {
  readonly #scores: Float64Array;
  /** What the next use counts: instead of decaying all scores, later uses count more. */
  #weight = 1;

  constructor(experts: number) {
    this.#scores = new Float64Array(experts);
  }

  /** Counts uses of an expert. */
  add(expert: number, uses: number): void {
    this.#scores[expert] = (this.#scores[expert] as number) + uses * this.#weight;
  }

  /** Lets what was counted so far age by token rows. */
  age(rows: number): void {
    this.#weight *= 2 ** (rows / HALF_LIFE_ROWS);
    if (this.#weight > MAX_SCORE) this.#rescale();
  }

  /** The uses of an expert, as far as they still count. */
  of(expert: number): number {
    return (this.#scores[expert] as number) / this.#weight;
  }

  #rescale(): void {
    for (let i = 0; i < this.#scores.length; i++)
      this.#scores[i] = (this.#scores[i] as number) / this.#weight;
    this.#weight = 1;
  }
}
