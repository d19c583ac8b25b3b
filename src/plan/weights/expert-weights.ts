import type { DeviceEvent } from '../../device/index.ts';
import type { LazyTensor } from '../../load/lazy-tensor.ts';
import { ExpertCache } from './expert-cache.ts';

/** How often experts were found on the device. */
export interface ExpertCounts {
  /** Chosen experts that had a slot, counted once per layer and step. */
  hits: number;
  /** Those that were loaded. */
  misses: number;
  /** File bytes of these. */
  bytes: number;
}

/** The weights of a layer's experts, of which some have slots on the device. */
export class ExpertWeights {
  readonly cache: ExpertCache;
  readonly #tensors: readonly LazyTensor[];
  readonly #bytesEach: number;
  readonly #counts: ExpertCounts;

  /** `tensors` have as many slots as the layer. */
  constructor(
    tensors: readonly LazyTensor[],
    { count, slots, counts }: { count: number; slots: number; counts: ExpertCounts },
  ) {
    this.cache = new ExpertCache(count, slots);
    this.#tensors = tensors;
    this.#counts = counts;
    const files = tensors.flatMap((tensor) => tensor.tensors);
    this.#bytesEach = files.reduce((sum, { byteLength }) => sum + byteLength, 0) / count;
  }

  /**
   * Gives experts slots, others than those of `kept`, and loads those that had none; the device writes these slots after
   * `after`. Resolves with the events after which all are there. Rejects as a load, once nothing writes the slots any more.
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
    const moved = misses.flatMap(({ expert, slot }) =>
      this.#tensors.map((tensor) => tensor.moved(expert, slot)),
    );
    for (const tensor of moved) tensor.request({ after });
    try {
      const events = await Promise.all(moved.map((tensor) => tensor.queued()));
      return events.flat();
    } catch (error) {
      await Promise.all(moved.map((tensor) => tensor.settled()));
      for (const { expert } of misses) this.cache.drop(expert);
      throw error;
    }
  }
}
