/** How much of the latest measurement goes into a mean. */
const WEIGHT = 0.25;

/** Minimum rows of prompts per step, however long they take: beside sequences that generate, and alone. */
const MIN_ROWS = { beside: 16, alone: 64 };

/** Rows of prompts in the first step beside sequences that generate, before anything was measured. */
const FIRST_ROWS = 64;

/** Times that a step with prompts may take of one without, where that alone comes near the target. */
const MAX_STRETCH = 2;

/** Targets for steps that process prompts, in milliseconds. Default: no limit. */
export interface PaceTargets {
  /** The time between two tokens of a sequence while other prompts are processed. */
  readonly tokenMs?: number | undefined;
  /** The time of a step in which no sequence generates: a new request waits for the steps in flight. */
  readonly promptMs?: number | undefined;
}

/** What a step computed, and how long after the previous one it was done. */
export interface MeasuredStep {
  readonly rows: number;
  /** Rows of sequences that generate; the others are of prompts. */
  readonly generating: number;
  readonly ms: number;
}

/** How many rows of prompts steps of one kind get. */
class Slices {
  readonly #targetMs: number;
  readonly #minRows: number;
  readonly #maxRows: number;
  rows: number;
  /** What the latest step may have. */
  granted = 0;

  constructor(targetMs: number, of: { min: number; first: number; max: number }) {
    this.#targetMs = targetMs;
    this.#maxRows = of.max;
    this.#minRows = Math.min(of.min, of.max);
    this.rows = Math.min(of.first, of.max);
  }

  /** Records the time of a step with `rows` rows of prompts; one without any takes `bareMs`. */
  measured(rows: number, ms: number, bareMs: number): void {
    const target = Math.max(this.#targetMs, MAX_STRETCH * bareMs);
    // The end of a prompt says little about whole slices.
    if (rows < this.granted && ms <= target) return;
    const perRow = Math.max(ms - bareMs, 0) / rows;
    const fitting = perRow > 0 ? (target - bareMs) / perRow : this.#maxRows;
    // One slow step is not the rule, and few rows do not say what many would take.
    const next = Math.min(Math.max(fitting, this.rows / 2), this.rows * 2);
    this.rows = Math.round(Math.min(Math.max(next, this.#minRows), this.#maxRows));
  }
}

/**
 * Chooses how many rows of prompts a step computes, so that its time stays near a target: Sarathi-Serve's token budget, found by
 * measurement. Beside sequences that generate, that is the time between their tokens; otherwise, it is how long a new request
 * may have to wait. A prompt is never kept out: where steps without prompts take half the target or longer, one with prompts takes twice
 * as long.
 */
export class PromptPace {
  readonly #capacities: readonly number[];
  readonly #beside: Slices | undefined;
  readonly #alone: Slices | undefined;
  /** Mean milliseconds of a step without prompts. */
  #bareMs = 0;

  /** `capacities`: rows that there are plans for, ascending; a step costs what its plan's rows cost. */
  constructor({ tokenMs, promptMs }: PaceTargets, capacities: readonly number[]) {
    const max = capacities.at(-1) ?? 1;
    const { beside, alone } = MIN_ROWS;
    this.#capacities = capacities;
    if (tokenMs !== undefined) this.#beside = new Slices(tokenMs, { min: beside, first: FIRST_ROWS, max });
    if (promptMs !== undefined) this.#alone = new Slices(promptMs, { min: alone, first: max, max });
  }

  /** Rows of prompts in the next step, beside so many of sequences that generate. */
  rowsBeside(generating: number): number {
    const slices = generating > 0 ? this.#beside : this.#alone;
    if (!slices) return Number.POSITIVE_INFINITY;
    const rows = generating + slices.rows;
    const whole = this.#capacities.findLast((capacity) => capacity <= rows) ?? rows;
    const isWorthwhile = whole - generating >= slices.rows / 2;
    slices.granted = isWorthwhile ? whole - generating : slices.rows;
    return slices.granted;
  }

  /** Takes the measured time of a step. */
  measured({ rows, generating, ms }: MeasuredStep): void {
    const ofPrompts = rows - generating;
    if (ofPrompts === 0) this.#bareMs += (this.#bareMs === 0 ? 1 : WEIGHT) * (ms - this.#bareMs);
    else (generating > 0 ? this.#beside : this.#alone)?.measured(ofPrompts, ms, this.#bareMs);
  }
}
