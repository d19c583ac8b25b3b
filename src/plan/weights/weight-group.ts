import { alignUp } from '../../base/bytes.ts';
import { BUFFER_ALIGNMENT, type Stream } from '../../device/index.ts';
import type { LazyTensor } from '../../load/lazy-tensor.ts';
import type { EvictableWeights } from '../../load/shared-device-memory.ts';
import type { PlanBuffers } from '../memory/plan-buffers.ts';
import type { WeightAllocation } from '../memory/weight-placement.ts';

/** What a group is made of. */
export interface WeightGroupParts {
  readonly allocations: readonly WeightAllocation[];
  readonly buffers: PlanBuffers;
  /** By key: all that the allocations hold. */
  readonly tensors: ReadonlyMap<string, LazyTensor>;
  /** Bytes that they take. */
  readonly byteLength: number;
  /** Called when nothing uses the memory any more, before it is given back. */
  readonly onRelease: (group: WeightGroup) => void;
}

/** The weights that one part of a model is the first to use: they are allocated and evicted together. */
export class WeightGroup implements EvictableWeights {
  readonly byteLength: number;
  lastUse = 0;
  readonly #of: WeightGroupParts;
  /** What computed with them. */
  readonly #streams = new Set<Stream>();

  constructor(of: WeightGroupParts) {
    this.#of = of;
    this.byteLength = of.byteLength;
  }

  /** True for a weight of the group. */
  has(key: string): boolean {
    return this.#of.allocations.some(({ offsets }) => offsets.has(key));
  }

  create(): void {
    const { buffers } = this.#of;
    try {
      for (const { label, byteLength, offsets } of this.#of.allocations) {
        const buffer = buffers.create(bufferName(label), byteLength);
        for (const [key, tensor] of this.#tensors(offsets)) {
          const bytes = alignUp(tensor.byteLength, BUFFER_ALIGNMENT);
          const range = { buffer, offset: offsets.get(key) ?? 0, byteLength: bytes };
          buffers.place(key, range);
          tensor.place(range);
        }
      }
    } catch (error) {
      this.#remove();
      throw error;
    }
  }

  /** Notes work on a stream that reads them. */
  used(stream: Stream, now: number): void {
    this.#streams.add(stream);
    this.lastUse = now;
  }

  async release(): Promise<void> {
    const tensors = this.#of.allocations.flatMap(({ offsets }) =>
      this.#tensors(offsets).map(([, tensor]) => tensor),
    );
    const written = tensors.map((tensor) => tensor.settled());
    for (const tensor of tensors) tensor.evict();
    // A stream that failed or ended reads nothing any more.
    const read = [...this.#streams].map(async (stream) => stream.synchronize());
    await Promise.allSettled([...written, ...read]);
    this.#streams.clear();
    this.#of.onRelease(this);
    this.#remove();
  }

  #tensors(offsets: ReadonlyMap<string, number>): [string, LazyTensor][] {
    return [...this.#of.tensors].filter(([key]) => offsets.has(key));
  }

  #remove(): void {
    for (const { label, offsets } of this.#of.allocations) {
      for (const key of offsets.keys()) this.#of.buffers.remove(key);
      this.#of.buffers.remove(bufferName(label));
    }
  }
}

/** A buffer is named after the first weight in it, and is not the weight. */
function bufferName(label: string): string {
  return `memory of ${label}`;
}
