/** What the time of a load goes into. */
export const LOAD_PHASES = ['open', 'plan', 'pin', 'read', 'decode', 'upload', 'repack', 'wait'] as const;

/**
 * `open`: reading the file's header. `plan`: compiling the model's programs, placing it in memory and allocating that. Both
 * come before a model's first byte, and are nothing where weights are loaded without a model. `pin`: pinning the ring and pages. `read`:
 * reads under way. `decode`: rows being decoded by the host. `upload`: rows on their way to their place on the device.
 * `repack`: of that, the device's own time for laying them out, known where a trace is kept and the device tells it apart.
 * `wait`: chunks waited for want of a free slot.
 */
export type LoadPhase = (typeof LOAD_PHASES)[number];

/** Seconds of a phase: in which it was under way at all, and those of everything that went on at once added up. */
export interface PhaseTime {
  readonly busy: number;
  readonly sum: number;
}

/** Where the time of a load went. Phases overlap, so that they add up to more than the load took. */
export type LoadBreakdown = Readonly<Record<LoadPhase, PhaseTime>>;

/** Adds up, for each phase, how long anything was under way in it. */
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

  /** Notes that something begins; gives when. */
  begin(phase: LoadPhase): number {
    const of = this.#phases[phase];
    const now = performance.now();
    if (of.underWay++ === 0) of.since = now;
    return now;
  }

  /** Notes the end of what began at `since`. */
  end(phase: LoadPhase, since: number): void {
    const of = this.#phases[phase];
    const now = performance.now();
    of.sum += now - since;
    if (--of.underWay === 0) of.busy += now - of.since;
  }

  /** Adds time that somebody else has measured. */
  add(phase: LoadPhase, milliseconds: number): void {
    const of = this.#phases[phase];
    of.sum += milliseconds;
    of.busy += milliseconds;
  }

  /** What was added up since the creation. */
  breakdown(): LoadBreakdown {
    return this.#times((phase) => {
      const { busy, sum } = this.#phases[phase];
      return { busy: busy / 1000, sum: sum / 1000 };
    });
  }

  /** What was added up since `breakdown` gave `before`. */
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
