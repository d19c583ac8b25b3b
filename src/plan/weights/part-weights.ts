import { alignUp } from '../../base/bytes.ts';
import { BUFFER_ALIGNMENT, type DeviceEvent, type Stream } from '../../device/index.ts';
import type { LazyTensor, WeightLoadOptions } from '../../load/lazy-tensor.ts';
import type { Evictable } from '../../base/shared-room.ts';
import type { PlanBuffers } from '../memory/plan-buffers.ts';
import type { WeightAllocation } from '../memory/weight-placement.ts';

/** Options of a part's weights. */
export interface PartWeightsSetup {
  /** The weights that the part reads. */
  readonly tensors: readonly LazyTensor[];
  /** Buffers of the resident weights that it is the first part to read. */
  readonly allocations: readonly WeightAllocation[];
  /** Bytes of the allocations. */
  readonly size: number;
  readonly buffers: PlanBuffers;
  /** Called when nothing uses the allocations any more, before they are released. */
  readonly onRelease: (part: PartWeights) => void;
}

/**
 * The weights that one part of a model reads, and the memory of those that it is the first to read, which is allocated
 * and evicted as a unit.
 */
export class PartWeights implements Evictable {
  readonly tensors: readonly LazyTensor[];
  readonly size: number;
  lastUse = 0;
  readonly #of: PartWeightsSetup;
  /** Streams with work that reads its memory. */
  readonly #streams = new Set<Stream>();

  constructor(of: PartWeightsSetup) {
    this.#of = of;
    this.tensors = of.tensors;
    this.size = of.size;
  }

  get areResident(): boolean {
    return this.tensors.every(({ isResident }) => isResident);
  }

  /** Requests the loading of missing weights. */
  request(options: WeightLoadOptions = {}): void {
    for (const tensor of this.tensors) tensor.request(options);
  }

  /** Resolves when all uploads are queued, with the events after which they are complete. */
  async queued(): Promise<readonly DeviceEvent[]> {
    // All are requested before the first is awaited.
    const events = await Promise.all(this.tensors.map((tensor) => tensor.queued()));
    return events.flat();
  }

  /** Marks the weights as evicted; the memory is kept. */
  evict(): void {
    for (const tensor of this.tensors) tensor.evict();
  }

  /** True if it is the first part to read some resident weights. */
  get ownsMemory(): boolean {
    return this.#of.allocations.length > 0;
  }

  /** True for a weight in its memory. */
  holds(tensor: LazyTensor): boolean {
    return this.#of.allocations.some(({ offsets }) => offsets.has(tensor));
  }

  create(): void {
    const { buffers, allocations } = this.#of;
    try {
      for (const allocation of allocations) {
        const buffer = buffers.create(bufferName(allocation), allocation.byteLength, stagesOf(allocation));
        for (const [tensor, offset] of allocation.offsets) {
          tensor.place({ buffer, offset, byteLength: alignUp(tensor.byteLength, BUFFER_ALIGNMENT) });
        }
      }
    } catch (error) {
      this.#remove();
      throw error;
    }
  }

  /** Records work on a stream that reads from its memory. */
  used(stream: Stream, now: number): void {
    this.#streams.add(stream);
    this.lastUse = now;
  }

  async release(): Promise<void> {
    const tensors = this.#of.allocations.flatMap(({ offsets }) => [...offsets.keys()]);
    const written = tensors.map((tensor) => tensor.settled());
    for (const tensor of tensors) tensor.evict();
    // A stream that failed or was disposed does not read any more.
    const read = [...this.#streams].map(async (stream) => stream.synchronize());
    await Promise.allSettled([...written, ...read]);
    this.#streams.clear();
    this.#of.onRelease(this);
    this.#remove();
  }

  #remove(): void {
    for (const allocation of this.#of.allocations) {
      for (const tensor of allocation.offsets.keys()) tensor.unplace();
      this.#of.buffers.remove(bufferName(allocation));
    }
  }
}

/** The stage of a pipeline whose weights they are. */
function stagesOf({ offsets }: WeightAllocation): readonly number[] | undefined {
  const [first] = offsets.keys();
  const stage = first?.packed.stage;
  return stage === undefined ? undefined : [stage];
}

/** A buffer is named after the first weight in it. */
function bufferName({ offsets }: WeightAllocation): string {
  const [first] = offsets.keys();
  return `memory of ${first?.key}`;
}
