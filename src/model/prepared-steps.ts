import { invariant } from '../base/errors.ts';
import type { Stream } from '../device/index.ts';
import type { BatchPlan, StepKind } from './batch-plan.ts';

interface Prepared {
  readonly batch: BatchPlan;
  readonly kind: StepKind;
}

/** More than the capacities of any device, twice. */
const DEFAULT_MOST = 32;

/**
 * Whole steps that stay recorded, so that they are queued with one call: as many of those used last as may be. What is
 * wanted is recorded again when it was dropped.
 */
export class PreparedSteps {
  /** The longest unused first. */
  readonly #kept: Prepared[] = [];
  /** Steps that were ready when they were wanted. */
  hits = 0;
  /** Steps that had to be recorded first. */
  misses = 0;

  constructor(
    /** Steps that are kept; 0 records every step anew. */
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

  /** Notes that a step was queued, and drops what was not used for longest; the stream is done with it first. */
  used(batch: BatchPlan, kind: StepKind, stream: Stream): void {
    const last = this.#kept.at(-1);
    if (this.most > 0 && last?.batch === batch && last.kind === kind) return;
    const known = this.#kept.findIndex((kept) => kept.batch === batch && kept.kind === kind);
    const [step] = known < 0 ? [{ batch, kind }] : this.#kept.splice(known, 1);
    if (step) this.#kept.push(step);
    while (this.#kept.length > this.most) {
      const oldest = this.#kept.shift();
      oldest?.batch.release(oldest.kind, stream.record());
    }
  }
}
