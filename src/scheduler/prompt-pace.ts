/** How much of the latest measurement goes into a mean. */
const WEIGHT = 0.25;

/** Rows that a prompt gets in a step at least, however long they take. */
const FEWEST_ROWS = 16;

/** Rows of prompts in the first step beside sequences that generate, before anything was measured. */
const FIRST_ROWS = 64;

/** Times that a step beside prompts may take of one without, where that alone comes near the target. */
const MAX_STRETCH = 2;

/** What a step computed, and how long it kept sequences that generate from their next token. */
export interface MeasuredStep {
  readonly rows: number;
  /** Rows of sequences that generate; the others are of prompts. */
  readonly generating: number;
  readonly ms: number;
}

/**
 * Chooses how many rows of prompts a step computes beside sequences that generate, so that the time between their tokens stays
 * near a target: Sarathi-Serve's token budget, found by measurement. A prompt is never kept out: where steps without
 * prompts take half the target or longer, one with prompts takes twice as long.
 */
export class PromptPace {
  readonly #targetMs: number;
  readonly #capacities: readonly number[];
  readonly #maxRows: number;
  #rows: number;
  /** What the latest step was given. */
  #granted = 0;
  /** Mean milliseconds of a step without prompts. */
  #bareMs = 0;

  /** `capacities`: rows that there are plans for, ascending; a step costs what its plan's rows cost. */
  constructor(targetMs: number, capacities: readonly number[]) {
    this.#targetMs = targetMs;
    this.#capacities = capacities;
    this.#maxRows = capacities.at(-1) ?? 1;
    this.#rows = Math.min(FIRST_ROWS, this.#maxRows);
  }

  /** Rows of prompts in the next step, beside so many of sequences that generate. */
  rowsBeside(generating: number): number {
    const rows = generating + this.#rows;
    const whole = this.#capacities.findLast((capacity) => capacity <= rows) ?? rows;
    const isWorthwhile = whole - generating >= this.#rows / 2;
    this.#granted = isWorthwhile ? whole - generating : this.#rows;
    return this.#granted;
  }

  /** Takes the measured time of a step with sequences that generate. */
  measured({ rows, generating, ms }: MeasuredStep): void {
    const ofPrompts = rows - generating;
    if (ofPrompts === 0) {
      this.#bareMs += (this.#bareMs === 0 ? 1 : WEIGHT) * (ms - this.#bareMs);
      return;
    }
    const target = Math.max(this.#targetMs, MAX_STRETCH * this.#bareMs);
    const perRow = Math.max(ms - this.#bareMs, 0) / ofPrompts;
    const fitting = perRow > 0 ? (target - this.#bareMs) / perRow : this.#maxRows;
    // The end of a prompt says little of whole slices.
    if (ofPrompts < this.#granted && fitting > this.#rows) return;
    // One slow step is not the rule, and few rows do not say what many would take.
    const next = Math.min(Math.max(fitting, this.#rows / 2), this.#rows * 2);
    const fewest = Math.min(FEWEST_ROWS, this.#maxRows);
    this.#rows = Math.round(Math.min(Math.max(next, fewest), this.#maxRows));
  }
}
