import type { DeviceEvent } from '../../device/index.ts';
import type { LazyTensor } from '../../load/lazy-tensor.ts';
import type { WeightLoadOptions } from '../../load/weight-load.ts';

/** The weights that one part of a model reads. */
export class PartWeights {
  constructor(readonly tensors: readonly LazyTensor[]) {}

  get areResident(): boolean {
    return this.tensors.every(({ isResident }) => isResident);
  }

  /** Begins to load what is not there. */
  request(options: WeightLoadOptions = {}): void {
    for (const tensor of this.tensors) tensor.request(options);
  }

  /** Resolves when all of them are on their way, with the events behind which they are complete. */
  async queued(): Promise<readonly DeviceEvent[]> {
    // All are asked for before the first is waited for.
    const events = await Promise.all(this.tensors.map((tensor) => tensor.queued()));
    return events.flat();
  }

  /** Forgets them. */
  evict(): void {
    for (const tensor of this.tensors) tensor.evict();
  }
}
