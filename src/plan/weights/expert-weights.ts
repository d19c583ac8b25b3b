import type { DeviceEvent } from '../../device/index.ts';
import type { LazyTensor } from '../../load/lazy-tensor.ts';
import type { AsyncModelLoader } from '../../load/async-model-loader.ts';
import { ExpertCache, type ExpertMiss } from './expert-cache.ts';

/** How often experts were found on the device. */
export interface ExpertCounts {
  /** Chosen experts that had a slot, counted once per layer and step. */
  hits: number;
  /** Those that were loaded. */
  misses: number;
  /** File bytes of these. */
  bytes: number;
}

/** What the layers of a model share, and the sizes of one. */
export interface ExpertWeightsSetup {
  readonly count: number;
  readonly slots: number;
  /** Counts what it does. */
  readonly counts: ExpertCounts;
  readonly loader: Pick<AsyncModelLoader, 'copyPinned'>;
  /** Gets the ends of its loads: a step's results are those of the file if these succeed. */
  readonly arrivals: Promise<void>[];
}

/** The weights of a layer's experts, of which some have slots on the device. */
export class ExpertWeights {
  readonly cache: ExpertCache;
  readonly #tensors: readonly LazyTensor[];
  readonly #bytesEach: number;
  readonly #counts: ExpertCounts;
  readonly #loader: ExpertWeightsSetup['loader'];
  readonly #arrivals: Promise<void>[];

  /** `tensors` have as many slots as the layer. */
  constructor(
    tensors: readonly LazyTensor[],
    { count, slots, counts, loader, arrivals }: ExpertWeightsSetup,
  ) {
    this.cache = new ExpertCache(count, slots);
    this.#tensors = tensors;
    this.#counts = counts;
    this.#loader = loader;
    this.#arrivals = arrivals;
    const files = tensors.flatMap((tensor) => tensor.tensors);
    this.#bytesEach = files.reduce((sum, { byteLength }) => sum + byteLength, 0) / count;
  }

  /**
   * Gives experts slots, others than those of `kept`, and loads those that had none; the device writes these slots after
   * `after`. Resolves with the events after which all are there. Rejects as a load, once nothing writes the slots any more. Whether
   * pages that are copied from are still the file's is up to the step.
   */
  async admit(
    group: readonly number[],
    { kept = [], after = [] }: { kept?: readonly number[]; after?: readonly DeviceEvent[] } = {},
  ): Promise<readonly DeviceEvent[]> {
    const misses = this.cache.admit(group, kept);
    this.#counts.hits += group.length - misses.length;
    this.#counts.misses += misses.length;
    this.#counts.bytes += misses.length * this.#bytesEach;
    if (misses.length === 0) return [];
    const copied = this.#copy(misses, after);
    if (copied) return copied;
    const loads = misses.map(async (miss) => this.#copy([miss], after) ?? (await this.#load(miss, after)));
    const ends = await Promise.allSettled(loads);
    const failed = ends.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
    return ends.flatMap((end) => (end.status === 'fulfilled' ? end.value : []));
  }

  /** Copies experts whose pages are all pinned; undefined for others. */
  #copy(misses: readonly ExpertMiss[], after: readonly DeviceEvent[]): readonly DeviceEvent[] | undefined {
    const moved = misses.flatMap((miss) => this.#moved(miss));
    const copy = this.#loader.copyPinned(moved, after);
    if (copy) this.#watch(misses, copy.done);
    return copy?.queued;
  }

  async #load(miss: ExpertMiss, after: readonly DeviceEvent[]): Promise<readonly DeviceEvent[]> {
    const moved = this.#moved(miss);
    const loads = moved.map((tensor) => tensor.request({ after, checkBeside: true }).done);
    this.#watch(
      [miss],
      Promise.all(loads).then(() => {}),
    );
    try {
      const events = await Promise.all(moved.map((tensor) => tensor.queued()));
      return events.flat();
    } catch (error) {
      await Promise.all(moved.map((tensor) => tensor.settled()));
      throw error;
    }
  }

  #moved({ expert, slot }: ExpertMiss): LazyTensor[] {
    return this.#tensors.map((tensor) => tensor.moved(expert, slot));
  }

  /** Whoever waits for the step sees the error of an arrival. */
  #watch(misses: readonly ExpertMiss[], arrival: Promise<void>): void {
    arrival.catch(() => misses.forEach(({ expert }) => this.cache.drop(expert)));
    this.#arrivals.push(arrival);
  }
}
