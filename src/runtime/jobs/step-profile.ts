import { Histogram } from '../../base/histogram.ts';
import type { DeviceEvent } from '../../device/index.ts';
import { LoadTrace } from '../../load/load-trace.ts';

/** Every `StepPhase`, in the order of a table. */
export const STEP_PHASES = ['dispatch', 'load', 'submit', 'wait', 'back', 'step', 'gap'] as const;

/**
 * What a step goes through. On the host: `dispatch`, its rows are chosen and its inputs written; `load`, what it needs and is
 * not there is waited for; `submit`, it is queued, part by part while weights are to come; `wait`, until its results are there;
 * `back`, they are handed out. On the device: `step`, from the upload of its inputs to its results; `gap`, from the step
 * before to this one.
 */
export type StepPhase = (typeof STEP_PHASES)[number];

/** How often a phase was gone through, and the milliseconds that it took. */
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
  /** Bytes that it brings back. */
  readonly bytes: number;
  /** The place that its inputs wait in: steps of one place do not overlap. */
  readonly lane: number;
}

/** How a profile is kept. */
export interface ProfileOptions {
  /** Keeps every step as a trace for Perfetto or `chrome://tracing`. Default false. */
  readonly withTrace?: boolean;
  /** @internal */
  readonly onNote?: ((note: ProfileNote) => void) | undefined;
}

/** What a profile is told, in a form that crosses between threads. */
export type ProfileNote =
  | { readonly phase: StepPhase; readonly ms: number; readonly begin?: number; readonly step?: ProfiledStep }
  | { readonly wasRecorded: boolean };

/** Where the time of steps goes. Kept only where one is handed to the engine; it costs two events a step. */
export class StepProfile {
  readonly #phases = new Map(STEP_PHASES.map((phase) => [phase, new Histogram()]));
  readonly #trace: LoadTrace | undefined;
  readonly #onNote: ((note: ProfileNote) => void) | undefined;
  #lastEnd: DeviceEvent | undefined;
  #isPaused = true;
  /** Whole steps, and those of them that were recorded when they were wanted. */
  #whole = 0;
  #recorded = 0;

  /** `withTrace` keeps every step, for Perfetto or `chrome://tracing`; `onNote` passes on what is noted, for `take` elsewhere. */
  constructor(options: ProfileOptions = {}) {
    const { withTrace = false, onNote } = options;
    this.#trace = withTrace ? new LoadTrace() : undefined;
    this.#onNote = onNote;
  }

  /** Notes what a profile on another thread has noted. @internal */
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

  /** What the phases took so far. */
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

  /** The part of the time between the first step and the last in which the device was idle. */
  get idleFraction(): number {
    const [step, gap] = [this.#of('step').total, this.#of('gap').total];
    return step + gap === 0 ? 0 : gap / (step + gap);
  }

  /** The part of whole steps that were recorded before they were wanted; undefined where there were none. */
  get hitRate(): number | undefined {
    return this.#whole === 0 ? undefined : this.#recorded / this.#whole;
  }

  /** The trace of every step, where it was asked for. */
  get trace(): LoadTrace | undefined {
    return this.#trace;
  }

  /** Notes a phase on the host. Times are milliseconds of `performance.now()`. @internal */
  add(phase: StepPhase, begin: number, end: number, step: ProfiledStep): void {
    this.take({ phase, ms: end - begin, begin, step });
  }

  /** Notes that a whole step was wanted. @internal */
  wanted(wasRecorded: boolean): void {
    this.take({ wasRecorded });
  }

  /** Notes that a step begins; true when it follows the one before without an idle time. @internal */
  begin(): boolean {
    const follows = !this.#isPaused;
    this.#isPaused = false;
    return follows;
  }

  /** Notes what the device did between two completed events of a step; the steps come in order. @internal */
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
