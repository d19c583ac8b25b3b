/** The phases of a load. */
export const LOAD_PHASES = ['open', 'plan', 'pin', 'read', 'decode', 'upload', 'repack', 'wait'] as const;

/**
 * `open`: reading the file's header. `plan`: compiling programs, planning memory and allocating it. Both come before
 * the first weight is read, and are zero if weights are loaded without a model. `pin`: pinning the ring and file pages.
 * `read`: reads in flight. `decode`: decoding rows on the host. `upload`: chunks between the host and their place on
 * the device. `repack`: of that, the device's own time for packing rows, known if a trace is recorded and the device
 * measures the two separately. `wait`: chunks waiting for a free slot.
 */
export type LoadPhase = (typeof LOAD_PHASES)[number];

/** Seconds of a phase: `busy` while any of it was active, `sum` over all of it, in parallel or not. */
export interface PhaseTime {
  readonly busy: number;
  readonly sum: number;
}

/** Where the time of a load went. Phases overlap, so their sum exceeds the duration of the load. */
export type LoadBreakdown = Readonly<Record<LoadPhase, PhaseTime>>;

/** Measures for each phase how long any of it was active. */
export class LoadClock {
  readonly #phases: Record<LoadPhase, { busy: number; sum: number; underWay: number; since: number }>;

  constructor() {
    const zero = () => ({ busy: 0, sum: 0, underWay: 0, since: 0 });
    this.#phases = {
      open: zero(),
      plan: zero(),
      pin: zero(),
      read: zero(),
      decode: zero(),
      upload: zero(),
      repack: zero(),
      wait: zero(),
    };
  }

  /** Begins timing; returns the start. */
  begin(phase: LoadPhase): number {
    const of = this.#phases[phase];
    const now = performance.now();
    if (of.underWay++ === 0) of.since = now;
    return now;
  }

  /** Ends what started at `since`. */
  end(phase: LoadPhase, since: number): void {
    const of = this.#phases[phase];
    const now = performance.now();
    of.sum += now - since;
    if (--of.underWay === 0) of.busy += now - of.since;
  }

  /** Adds time that was measured elsewhere. */
  add(phase: LoadPhase, milliseconds: number): void {
    const of = this.#phases[phase];
    of.sum += milliseconds;
    of.busy += milliseconds;
  }

  /** The times since the clock was created. */
  breakdown(): LoadBreakdown {
    return this.#times((phase) => {
      const { busy, sum } = this.#phases[phase];
      return { busy: busy / 1000, sum: sum / 1000 };
    });
  }

  /** The times since `breakdown` returned `before`. */
  since(before: LoadBreakdown): LoadBreakdown {
    const now = this.breakdown();
    return this.#times((phase) => ({
      busy: now[phase].busy - before[phase].busy,
      sum: now[phase].sum - before[phase].sum,
    }));
  }

  #times(seconds: (phase: LoadPhase) => PhaseTime): LoadBreakdown {
    return {
      open: seconds('open'),
      plan: seconds('plan'),
      pin: seconds('pin'),
      read: seconds('read'),
      decode: seconds('decode'),
      upload: seconds('upload'),
      repack: seconds('repack'),
      wait: seconds('wait'),
    };
  }
}
