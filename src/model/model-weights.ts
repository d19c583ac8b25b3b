import { alignUp } from '../base/bytes.ts';
import { invariant } from '../base/errors.ts';
import { BUFFER_ALIGNMENT, type DeviceEvent } from '../device/index.ts';
import type { AsyncModelLoader, LoadOptions, LoadReport } from '../load/async-model-loader.ts';
import { LazyTensor } from '../load/lazy-tensor.ts';
import type { PlannedWeight } from './layer-plan.ts';
import { PartWeights } from './part-weights.ts';
import type { PlanBuffers } from './plan-buffers.ts';
import type { WeightPlacement } from './weight-placement.ts';
import { WeightSlot } from './weight-slot.ts';

/** What the weights of a model are made of. */
export interface ModelWeightsParts {
  /** Each part's weights, each of them once, in the order of running. */
  readonly parts: readonly (readonly PlannedWeight[])[];
  readonly placement: WeightPlacement;
  readonly buffers: PlanBuffers;
  readonly loader: AsyncModelLoader;
  /** Keys of weights that the device decodes, where they do not stay as in the file. */
  readonly decodedOnDevice: ReadonlySet<string>;
}

/**
 * The weights of a model, loaded when their part is about to run or before. Those of a streamed part pass through a slot
 * that other parts use too: as soon as one is done with, the next to come is on its way.
 */
export class ModelWeights {
  readonly tensors: readonly LazyTensor[];
  readonly parts: readonly PartWeights[];
  readonly #loader: AsyncModelLoader;
  readonly #slotOf = new Map<number, WeightSlot>();
  #wereAllResident = false;

  /** Creates the weights' memory in `buffers`, which owns it. Throws `OUT_OF_MEMORY`. */
  constructor({ parts, placement, buffers, loader, decodedOnDevice }: ModelWeightsParts) {
    this.#loader = loader;
    for (const [key, bytes] of placement.resident) buffers.create(key, bytes);
    const slots = Array.from({ length: placement.slots }, (_, i) =>
      buffers.create(`weight slot ${i}`, placement.slotBytes),
    );
    for (const { slot, offsets, part } of placement.streamed) {
      for (const { key, packed } of parts[part] ?? []) {
        const offset = offsets.get(key);
        const buffer = slots[slot];
        invariant(offset !== undefined && buffer, 'a streamed weight has a place in its slot');
        buffers.place(key, { buffer, offset, byteLength: alignUp(packed.byteLength, BUFFER_ALIGNMENT) });
      }
    }
    const tensors = new Map<string, LazyTensor>();
    for (const { key, packed, tensors: files } of parts.flat()) {
      if (tensors.has(key)) continue;
      const decode = decodedOnDevice.has(key) ? 'device' : 'host';
      const job = { weight: packed, target: buffers.get(key), tensors: files, decode } as const;
      tensors.set(key, new LazyTensor(job, loader));
    }
    this.tensors = [...tensors.values()];
    this.parts = parts.map(
      (weights) => new PartWeights(weights.map(({ key }) => tensors.get(key) as LazyTensor)),
    );
    for (let slot = 0; slot < placement.slots; slot++) {
      const users = placement.streamed.filter((streamed) => streamed.slot === slot);
      const turn = new WeightSlot(users.map(({ part }) => this.parts[part] as PartWeights));
      for (const { part } of users) this.#slotOf.set(part, turn);
    }
  }

  /** True when every weight is on the device to stay. */
  get areResident(): boolean {
    this.#wereAllResident ||= this.#slotOf.size === 0 && this.tensors.every(({ isResident }) => isResident);
    return this.#wereAllResident;
  }

  /** True when some weights never stay. */
  get areStreamed(): boolean {
    return this.#slotOf.size > 0;
  }

  /** Begins to load what a part needs, behind all that was asked for before. */
  request(part: number): void {
    if (this.#slotOf.has(part)) return;
    this.parts[part]?.request();
  }

  /** Resolves when a part's weights are on their way: a stream that waits for these events finds them complete. */
  async admit(part: number): Promise<readonly DeviceEvent[]> {
    const slot = this.#slotOf.get(part);
    const weights = this.parts[part] as PartWeights;
    return slot ? slot.admit(weights) : weights.queued();
  }

  /** Notes that the work that reads an admitted part is queued, before `event`. */
  used(part: number, event: () => DeviceEvent): void {
    this.#slotOf.get(part)?.used(this.parts[part] as PartWeights, event());
  }

  /** Loads what stays of some parts, in the order given. Rejects as `AsyncModelLoader.load`. */
  preload(parts: readonly number[], options: LoadOptions = {}): Promise<LoadReport> {
    const staying = parts.filter((part) => !this.#slotOf.has(part));
    const tensors = new Set(staying.flatMap((part) => this.parts[part]?.tensors ?? []));
    const wanted = [...tensors].filter(({ isResident }) => !isResident);
    return this.#loader.follow(wanted, options, (tensor, watch) => tensor.request(watch));
  }
}
