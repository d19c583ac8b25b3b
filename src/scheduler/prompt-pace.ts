/** Weight of the latest measurement in a moving average. */
const WEIGHT = 0.25;

/** Minimum rows of prompts per step, however long they take: beside sequences that generate, and alone. */
const MIN_ROWS = { beside: 16, alone: 64 };

/** Rows of prompts in the first step beside sequences that generate, before anything was measured. */
const FIRST_ROWS = 64;

/**
 * How much longer a step with prompts may take than one without, if the latter alone comes near the target: beside
 * sequences that generate, and alone.
 */
const MAX_STRETCH = { beside: 1.5, alone: 2 };

/** A step that takes so many times its target had too many rows. */
const FAR_TOO_LONG = 2;

/**
 * Milliseconds that are aimed at by default. Where a step costs as much as its rows, as on a CPU, small slices lose
 * nothing; on a GPU, they leave most of it idle.
 */
const TOKEN_MS = { byRows: 12, otherwise: 20 };

/** Targets for steps that process prompts, in milliseconds. Default: no limit. */
export interface PaceTargets {
  /** The time between two tokens of a sequence while other prompts are processed; `auto`: 12 on a CPU, otherwise 20. */
  readonly tokenMs?: number | 'auto' | undefined;
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

/** The next moving average behind `mean`; undefined before the first measurement. */
function averaged(mean: number | undefined, measured: number): number {
  if (mean === undefined || mean === 0) return measured;
  // A step that waited for a processor says little about the next ones.
  return mean + WEIGHT * (Math.min(measured, 2 * mean) - mean);
}

/** The number of prompt rows for steps of one kind. */
class Slices {
  readonly #targetMs: number;
  readonly #stretch: number;
  readonly #minRows: number;
  readonly #maxRows: number;
  /** Milliseconds that a row of a prompt adds to a step. */
  #perRow: number | undefined;
  /** Rows at most: few do not predict the time of many, and a step that took far too long is not repeated. */
  #limit: number;
  /** Rows wanted of the latest step, and those granted. */
  #wanted: number;
  granted = 0;

  constructor(targetMs: number, of: { stretch: number; min: number; first: number; max: number }) {
    this.#targetMs = targetMs;
    this.#stretch = of.stretch;
    this.#maxRows = of.max;
    this.#minRows = Math.min(of.min, of.max);
    this.#limit = Math.min(of.first, of.max);
    this.#wanted = this.#limit;
  }

  /** Rows of prompts with which a step that takes `bareMs` without them takes as long as it should. */
  rows(bareMs: number): number {
    const fitting = (this.#target(bareMs) - bareMs) / (this.#perRow ?? 0);
    this.#wanted = Math.round(Math.min(Math.max(fitting, this.#minRows), this.#limit));
    return this.#wanted;
  }

  /** Records the time of a step with `rows` rows of prompts; one without any takes `bareMs`. */
  measured(rows: number, ms: number, bareMs: number): void {
    // The end of a prompt says little about full slices.
    if (rows < this.granted && ms <= this.#target(bareMs)) return;
    this.#perRow = averaged(this.#perRow, Math.max(ms - bareMs, 0) / rows);
    const limit = ms > FAR_TOO_LONG * this.#target(bareMs) ? rows / 2 : 2 * this.#wanted;
    this.#limit = Math.min(Math.max(limit, this.#minRows), this.#maxRows);
  }

  #target(bareMs: number): number {
    return Math.max(this.#targetMs, this.#stretch * bareMs);
  }
}

/**
 * Chooses how many prompt rows a step computes, so that its time stays near a target: Sarathi-Serve's token budget,
 * found by measurement. While sequences generate, the target is the time between their tokens; otherwise, it is how
 * long a new request may have to wait. Prompts always make progress, however slow the steps are without them: one with
 * prompts takes half as long again, and twice as long if it delays no tokens.
 */
export class PromptPace {
  readonly #capacities: readonly number[];
  readonly #beside: Slices | undefined;
  readonly #alone: Slices | undefined;
  /** Mean time of a step without prompts, in milliseconds, by the number of generating rows. */
  readonly #bareMs: number[] = [];

  /** `capacities`: row capacities of the plans, ascending; a step costs as much as its plan's rows. */
  constructor({ tokenMs, promptMs }: PaceTargets, capacities: readonly number[]) {
    const max = capacities.at(-1) ?? 1;
    const of = (kind: 'beside' | 'alone') => ({ stretch: MAX_STRETCH[kind], min: MIN_ROWS[kind], max });
    this.#capacities = capacities;
    const byDevice = capacities.length > 1 ? TOKEN_MS.otherwise : TOKEN_MS.byRows;
    const target = tokenMs === 'auto' ? byDevice : tokenMs;
    if (target !== undefined) this.#beside = new Slices(target, { ...of('beside'), first: FIRST_ROWS });
    if (promptMs !== undefined) this.#alone = new Slices(promptMs, { ...of('alone'), first: max });
  }

  /** Prompt rows in the next step, beside `generating` rows of generating sequences. */
  rowsBeside(generating: number): number {
    const slices = generating > 0 ? this.#beside : this.#alone;
    if (!slices) return Number.POSITIVE_INFINITY;
    const most = slices.rows(this.#bareOf(generating));
    const rows = generating + most;
    const whole = this.#capacities.findLast((capacity) => capacity <= rows) ?? rows;
    const isWorthwhile = whole - generating >= most / 2;
    slices.granted = isWorthwhile ? whole - generating : most;
    return slices.granted;
  }

  /** Records the measured time of a step. */
  measured({ rows, generating, ms }: MeasuredStep): void {
    const ofPrompts = rows - generating;
    if (ofPrompts === 0) this.#bareMs[generating] = averaged(this.#bareMs[generating], ms);
    else (generating > 0 ? this.#beside : this.#alone)?.measured(ofPrompts, ms, this.#bareOf(generating));
  }

  /** The time of a step with so many generating rows and no prompts, or with the nearest number that was measured. */
  #bareOf(generating: number): number {
    const known = this.#bareMs.length;
    for (let apart = 0; apart <= Math.max(generating, known); apart++) {
      const ms = this.#bareMs[generating - apart] ?? this.#bareMs[generating + apart];
      if (ms !== undefined) return ms;
    }
    return 0;
  }
}
