/** Weight of the latest measurement in a moving average. */
const WEIGHT = 0.25;

/** Minimum rows of prompts per step, however long they take: beside sequences that generate, and alone. */
const MIN_ROWS = { beside: 16, alone: 64 };

/** Rows of prompts in the first step beside sequences that generate, before anything was measured. */
const FIRST_ROWS = 64;

/** How much longer a step with prompts may take than one without, if the latter alone comes near the target. */
const MAX_STRETCH = 2;

/** Targets for steps that process prompts, in milliseconds. Default: no limit. */
export interface PaceTargets {
  /** The time between two tokens of a sequence while other prompts are processed. */
  readonly tokenMs?: number | undefined;
  /** The time of a step in which no sequence generates: a new request waits for the steps in flight. */
  readonly promptMs?: number | undefined;
}

/** What a step computed, and how much later than the previous one it finished. */
export interface MeasuredStep {
  readonly rows: number;
  /** Rows of generating sequences; the others belong to prompts. */
  readonly generating: number;
  readonly ms: number;
}

/** The number of prompt rows for steps of one kind. */
class Slices {
  readonly #targetMs: number;
  readonly #minRows: number;
  readonly #maxRows: number;
  rows: number;
  /** Rows granted to the latest step. */
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
    // The end of a prompt says little about full slices.
    if (rows < this.granted && ms <= target) return;
    const perRow = Math.max(ms - bareMs, 0) / rows;
    const fitting = perRow > 0 ? (target - bareMs) / perRow : this.#maxRows;
    // One slow step may be an outlier, and few rows do not predict the time of many.
    const next = Math.min(Math.max(fitting, this.rows / 2), this.rows * 2);
    this.rows = Math.round(Math.min(Math.max(next, this.#minRows), this.#maxRows));
  }
}

/**
 * Chooses how many prompt rows a step computes, so that its time stays near a target: Sarathi-Serve's token budget,
 * found by measurement. While sequences generate, the target is the time between their tokens; otherwise, it is how
 * long a new request may have to wait. Prompts always make progress: where steps without prompts take half the target
 * or longer, one with prompts takes twice as long.
 */
export class PromptPace {
  readonly #capacities: readonly number[];
  readonly #beside: Slices | undefined;
  readonly #alone: Slices | undefined;
  /** Mean time of a step without prompts, in milliseconds. */
  #bareMs = 0;

  /** `capacities`: row capacities of the plans, ascending; a step costs as much as its plan's rows. */
  constructor({ tokenMs, promptMs }: PaceTargets, capacities: readonly number[]) {
    const max = capacities.at(-1) ?? 1;
    const { beside, alone } = MIN_ROWS;
    this.#capacities = capacities;
    if (tokenMs !== undefined) this.#beside = new Slices(tokenMs, { min: beside, first: FIRST_ROWS, max });
    if (promptMs !== undefined) this.#alone = new Slices(promptMs, { min: alone, first: max, max });
  }

  /** Prompt rows in the next step, beside `generating` rows of generating sequences. */
  rowsBeside(generating: number): number {
    const slices = generating > 0 ? this.#beside : this.#alone;
    if (!slices) return Number.POSITIVE_INFINITY;
    const rows = generating + slices.rows;
    const whole = this.#capacities.findLast((capacity) => capacity <= rows) ?? rows;
    const isWorthwhile = whole - generating >= slices.rows / 2;
    slices.granted = isWorthwhile ? whole - generating : slices.rows;
    return slices.granted;
  }

  /** Records the measured time of a step. */
  measured({ rows, generating, ms }: MeasuredStep): void {
    const ofPrompts = rows - generating;
    if (ofPrompts === 0) this.#bareMs += (this.#bareMs === 0 ? 1 : WEIGHT) * (ms - this.#bareMs);
    else (generating > 0 ? this.#beside : this.#alone)?.measured(ofPrompts, ms, this.#bareMs);
  }
}
