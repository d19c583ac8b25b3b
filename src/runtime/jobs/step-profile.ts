import { checkOptions, type OptionNames } from '../../base/options.ts';
import { Histogram } from '../../base/histogram.ts';
import type { DeviceEvent } from '../../device/index.ts';
import { LoadTrace } from '../../load/load-trace.ts';

/** Every `StepPhase`, in the order of a table. */
export const STEP_PHASES = ['dispatch', 'load', 'submit', 'wait', 'back', 'step', 'gap'] as const;

/**
 * The phases of a step. On the host: `dispatch`, choosing rows and writing inputs; `load`, waiting for missing weights;
 * `submit`, queueing, part by part while weights are loading; `wait`, until the results are there; `back`, delivering
 * them. On the device: `step`, from the upload of the inputs to the results; `gap`, since the previous step.
 */
export type StepPhase = (typeof STEP_PHASES)[number];

/** How often a phase occurred, and its milliseconds. */
export interface PhaseSummary {
  readonly phase: StepPhase;
  readonly count: number;
  readonly mean: number;
  readonly median: number;
  readonly p95: number;
  readonly max: number;
}

/** A step as a profile sees it. */
export interface ProfiledStep {
  readonly rows: number;
  /** Bytes that it reads back. */
  readonly bytes: number;
  /** The index of its input buffer: steps with the same one do not overlap. */
  readonly lane: number;
}

/** Options of a profile. */
export interface ProfileOptions {
  /** Keeps every step as a trace for Perfetto or `chrome://tracing`. Default false. */
  readonly withTrace?: boolean;
  /** @internal */
  readonly onNote?: ((note: ProfileNote) => void) | undefined;
}

const PROFILE_OPTIONS: OptionNames<ProfileOptions> = { withTrace: true, onNote: true };

/** A record of a profile, in a form that can be sent to another thread. */
export type ProfileNote =
  | { readonly phase: StepPhase; readonly ms: number; readonly begin?: number; readonly step?: ProfiledStep }
  | { readonly wasRecorded: boolean };

/** Measures where the time of steps goes. Used only if one is passed to the engine; it costs two events per step. */
export class StepProfile {
  readonly #phases = new Map(STEP_PHASES.map((phase) => [phase, new Histogram()]));
  readonly #trace: LoadTrace | undefined;
  readonly #onNote: ((note: ProfileNote) => void) | undefined;
  #lastEnd: DeviceEvent | undefined;
  #isPaused = true;
  /** Whole steps, and those of them that were already recorded when needed. */
  #whole = 0;
  #recorded = 0;

  /**
   * `withTrace` records every step, for Perfetto or `chrome://tracing`; `onNote` forwards the records, for `take`
   * elsewhere.
   */
  constructor(options: ProfileOptions = {}) {
    checkOptions('a step profile', options, PROFILE_OPTIONS);
    const { withTrace = false, onNote } = options;
    this.#trace = withTrace ? new LoadTrace() : undefined;
    this.#onNote = onNote;
  }

  /** Adds what a profile on another thread has recorded. @internal */
  take(note: ProfileNote): void {
    this.#onNote?.(note);
    if ('wasRecorded' in note) {
      this.#whole++;
      if (note.wasRecorded) this.#recorded++;
      return;
    }
    const { phase, ms, begin, step } = note;
    this.#of(phase).add(ms);
    if (!this.#trace || !step || begin === undefined) return;
    const { rows, bytes, lane } = step;
    this.#trace.add({ row: `${phase} ${lane}`, name: `${rows} rows`, begin, end: begin + ms, bytes });
  }

  /** The times of the phases so far. */
  summary(): PhaseSummary[] {
    return [...this.#phases].map(([phase, times]) => ({
      phase,
      count: times.count,
      mean: times.mean,
      median: times.quantile(0.5),
      p95: times.quantile(0.95),
      max: times.max,
    }));
  }

  /** The fraction of the time between the first step and the last in which the device was idle. */
  get idleFraction(): number {
    const [step, gap] = [this.#of('step').total, this.#of('gap').total];
    return step + gap === 0 ? 0 : gap / (step + gap);
  }

  /** The fraction of whole steps that were already recorded when needed; undefined without any. */
  get hitRate(): number | undefined {
    return this.#whole === 0 ? undefined : this.#recorded / this.#whole;
  }

  /** The trace of every step, if requested. */
  get trace(): LoadTrace | undefined {
    return this.#trace;
  }

  /** Adds a phase on the host. Times are milliseconds of `performance.now()`. @internal */
  add(phase: StepPhase, begin: number, end: number, step: ProfiledStep): void {
    this.take({ phase, ms: end - begin, begin, step });
  }

  /** Records that a whole step was needed. @internal */
  wanted(wasRecorded: boolean): void {
    this.take({ wasRecorded });
  }

  /** Records that a step starts; true if it follows the previous one without idle time. @internal */
  begin(): boolean {
    const follows = !this.#isPaused;
    this.#isPaused = false;
    return follows;
  }

  /** Records the device time between two completed events of a step; steps come in order. @internal */
  ran(begin: DeviceEvent, end: DeviceEvent, follows: boolean): void {
    this.take({ phase: 'step', ms: end.elapsedSince(begin) });
    if (this.#lastEnd && follows) {
      this.take({ phase: 'gap', ms: Math.max(0, begin.elapsedSince(this.#lastEnd)) });
    }
    this.#lastEnd = end;
  }

  /** The next step has no gap before it: the engine was idle. @internal */
  pause(): void {
    this.#isPaused = true;
  }

  #of(phase: StepPhase): Histogram {
    return this.#phases.get(phase) as Histogram;
  }
}
