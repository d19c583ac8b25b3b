import { invariant } from '../../base/errors.ts';
import type { Stream } from '../../device/index.ts';
import type { BatchPlan, StepKind } from './batch-plan.ts';

interface Prepared {
  readonly batch: BatchPlan;
  readonly kind: StepKind;
  /** True for a step that was recorded ahead of time and has not been used yet. */
  isAhead: boolean;
}

/** More than twice the number of row capacities of any device. */
const DEFAULT_CAPACITY = 32;

/**
 * An LRU cache of recorded whole steps, each of which is queued with one call. A dropped step is recorded again when
 * needed. Steps recorded ahead of time only use free places, and are dropped first.
 */
export class PreparedSteps {
  /** Least recently used first; unused steps recorded ahead of time come before all others. */
  readonly #kept: Prepared[] = [];
  /** Steps that were already recorded when needed. */
  hits = 0;
  /** Steps that had to be recorded first. */
  misses = 0;
  /** Steps that were recorded ahead of time. */
  ahead = 0;
  /** How many of those have been used since. */
  aheadUsed = 0;

  constructor(
    /** Maximum number of steps kept; 0 records every step again. */
    readonly capacity: number = DEFAULT_CAPACITY,
  ) {
    invariant(capacity >= 0, 'no fewer than none are kept');
  }

  /** True, and counted as a hit, if a needed step can be run immediately. */
  has(batch: BatchPlan, kind: StepKind): boolean {
    const isReady = batch.isPrepared(kind);
    if (isReady) this.hits++;
    else this.misses++;
    return isReady;
  }

  /** True while there is room for a step recorded ahead of time. */
  get hasRoom(): boolean {
    return this.#kept.length < this.capacity;
  }

  /** Adds a step that was recorded ahead of time. */
  addAhead(batch: BatchPlan, kind: StepKind): void {
    if (this.#find(batch, kind) >= 0) return;
    this.ahead++;
    this.#kept.unshift({ batch, kind, isAhead: true });
  }

  /** Records that a step was queued, and drops the least recently used one once the stream is done with it. */
  used(batch: BatchPlan, kind: StepKind, stream: Stream): void {
    const last = this.#kept.at(-1);
    if (last?.batch === batch && last.kind === kind && !last.isAhead) return;
    const known = this.#find(batch, kind);
    const [step] = known < 0 ? [{ batch, kind, isAhead: false }] : this.#kept.splice(known, 1);
    if (step) {
      if (step.isAhead) this.aheadUsed++;
      step.isAhead = false;
      this.#kept.push(step);
    }
    while (this.#kept.length > this.capacity) {
      const oldest = this.#kept.shift();
      oldest?.batch.release(oldest.kind, stream.record());
    }
  }

  #find(batch: BatchPlan, kind: StepKind): number {
    return this.#kept.findIndex((kept) => kept.batch === batch && kept.kind === kind);
  }
}
