import type { DeviceEvent } from '../../device/index.ts';
import type { LazyTensor } from '../../load/lazy-tensor.ts';
import type { AsyncModelLoader } from '../../load/async-model-loader.ts';
import { ExpertCache, type ExpertMiss } from './expert-cache.ts';

const NOTHING_AHEAD: ReadonlyMap<number, readonly DeviceEvent[]> = new Map();

/** How often experts were found on the device. */
export interface ExpertCounts {
  /** Chosen experts that had a slot, counted once per layer and step. */
  hits: number;
  /** Those that were loaded when they were chosen. */
  misses: number;
  /** Experts that were loaded before they were chosen, and those of them that then were: these are among the hits. */
  prefetched: number;
  prefetchedUsed: number;
  /** File bytes of all that was loaded. */
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
  /** The experts that are loaded ahead, until the layer's choice is known: the events after which they are there. */
  #ahead = new Map<number, Promise<readonly DeviceEvent[]>>();

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
   * Begins to load the first `most` of the experts that have no slot, before it is known which ones the layer's rows choose: others
   * than those keep theirs. No queued work reads the slots any more.
   */
  prefetch(likely: readonly number[], most: number): void {
    const distinct = [...new Set(likely)];
    const there = distinct.filter((expert) => this.cache.slotOf(expert) >= 0);
    const missing = distinct.filter((expert) => this.cache.slotOf(expert) < 0).slice(0, most);
    if (there.length + missing.length > this.cache.slots) return;
    this.#counts.prefetched += missing.length;
    this.#counts.bytes += missing.length * this.#bytesEach;
    for (const miss of this.cache.admit(missing, there)) {
      const load = Promise.resolve(this.#copy([miss], []) ?? this.#load(miss, []));
      // `admit` sees the error.
      load.catch(() => {});
      this.#ahead.set(miss.expert, load);
    }
  }

  /** Resolves when nothing that was loaded ahead is on its way. */
  async settled(): Promise<void> {
    const loads = [...this.#ahead.values()];
    this.#ahead.clear();
    const ends = await Promise.allSettled(loads);
    const events = ends.flatMap((end) => (end.status === 'fulfilled' ? end.value : []));
    await Promise.allSettled(events.map((event) => event.completed()));
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
    const ahead = await this.#loadedAhead();
    const misses = this.cache.admit(group, kept);
    this.#counts.hits += group.length - misses.length;
    this.#counts.misses += misses.length;
    this.#counts.bytes += misses.length * this.#bytesEach;
    const used = group.filter((expert) => ahead.has(expert));
    this.#counts.prefetchedUsed += used.length;
    const early = used.flatMap((expert) => ahead.get(expert) ?? []);
    if (misses.length === 0) return early;
    // A slot whose expert was loaded ahead in vain is written a second time.
    const evicted = [...ahead].filter(([expert]) => this.cache.slotOf(expert) < 0);
    const behind = [...after, ...evicted.flatMap(([, events]) => events)];
    const copied = this.#copy(misses, behind);
    if (copied) return [...early, ...copied];
    const loads = misses.map(async (miss) => this.#copy([miss], behind) ?? (await this.#load(miss, behind)));
    return [...early, ...(await allEvents(loads))];
  }

  /** What was loaded ahead, now that the layer's choice is known: the events after which each expert is there. Rejects as a load. */
  async #loadedAhead(): Promise<ReadonlyMap<number, readonly DeviceEvent[]>> {
    if (this.#ahead.size === 0) return NOTHING_AHEAD;
    const loads = [...this.#ahead];
    this.#ahead.clear();
    await allEvents(loads.map(([, load]) => load));
    return new Map(await Promise.all(loads.map(async ([expert, load]) => [expert, await load] as const)));
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

/** The events of all loads. Rejects once none of them is under way. */
async function allEvents(loads: readonly Promise<readonly DeviceEvent[]>[]): Promise<DeviceEvent[]> {
  const ends = await Promise.allSettled(loads);
  const failed = ends.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
  return ends.flatMap((end) => (end.status === 'fulfilled' ? end.value : []));
}
