import { invariant } from '../../base/errors.ts';
import type { Stream } from '../../device/index.ts';
import type { BatchPlan, StepKind } from './batch-plan.ts';

interface Prepared {
  readonly batch: BatchPlan;
  readonly kind: StepKind;
  /** True for a step that was recorded ahead and not wanted since. */
  isAhead: boolean;
}

/** More than twice as many as any device has row capacities. */
const DEFAULT_MOST = 32;

/**
 * An LRU cache of recorded whole steps, each of which is queued with one call. A step that was dropped is recorded again when
 * it is needed. Steps that were recorded ahead use free places only, and are dropped first.
 */
export class PreparedSteps {
  /** Least recently used first; those recorded ahead before all others. */
  readonly #kept: Prepared[] = [];
  /** Steps that were ready when they were wanted. */
  hits = 0;
  /** Steps that had to be recorded first. */
  misses = 0;
  /** Steps that were recorded before anybody wanted them. */
  ahead = 0;
  /** How many of those were wanted since. */
  aheadUsed = 0;

  constructor(
    /** Most steps kept; 0 records every step anew. */
    readonly most: number = DEFAULT_MOST,
  ) {
    invariant(most >= 0, 'no fewer than none are kept');
  }

  /** True, and counted as a hit, when a step that is wanted may be run at once. */
  has(batch: BatchPlan, kind: StepKind): boolean {
    const isReady = batch.isPrepared(kind);
    if (isReady) this.hits++;
    else this.misses++;
    return isReady;
  }

  /** True while a step that nobody wants yet may be kept. */
  get hasRoom(): boolean {
    return this.#kept.length < this.most;
  }

  /** Notes that a step was recorded before anybody wanted it. */
  addAhead(batch: BatchPlan, kind: StepKind): void {
    if (this.#find(batch, kind) >= 0) return;
    this.ahead++;
    this.#kept.unshift({ batch, kind, isAhead: true });
  }

  /** Notes that a step was queued, and drops the least recently used one once the stream is done with it. */
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
    while (this.#kept.length > this.most) {
      const oldest = this.#kept.shift();
      oldest?.batch.release(oldest.kind, stream.record());
    }
  }

  #find(batch: BatchPlan, kind: StepKind): number {
    return this.#kept.findIndex((kept) => kept.batch === batch && kept.kind === kind);
  }
}
