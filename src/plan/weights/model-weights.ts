import { alignUp } from '../../base/bytes.ts';
import {
  BUFFER_ALIGNMENT,
  type DeviceBuffer,
  type DeviceEvent,
  type Stream,
  totalOf,
} from '../../device/index.ts';
import type { SharedRoom } from '../../base/shared-room.ts';
import type { AsyncModelLoader, LoadOptions, LoadReport } from '../../load/async-model-loader.ts';
import type { LazyTensor } from '../../load/lazy-tensor.ts';
import type { SharedDeviceMemory } from '../../load/shared-device-memory.ts';
import type { PlanBuffers } from '../memory/plan-buffers.ts';
import type { WeightAllocation, WeightPlacement } from '../memory/weight-placement.ts';
import type { PlanSetup } from '../parts/plan-setup.ts';
import { PartWeights } from './part-weights.ts';
import { StreamedWeights } from './streamed-weights.ts';

/** Options of a model's weights. */
export interface ModelWeightsSetup {
  /** The weights that each part reads, in execution order. */
  readonly parts: readonly (readonly LazyTensor[])[];
  readonly placement: WeightPlacement;
  readonly buffers: PlanBuffers;
  readonly loader: AsyncModelLoader;
  /** Memory for weights shared with other models; without it, the model has its own from the start. */
  readonly sharedMemory?: SharedDeviceMemory | undefined;
  /** Called with the parts whose weights are about to be evicted, once nothing uses their memory. */
  readonly onRelease: (parts: readonly number[]) => void;
  /** Weights that do not keep the file's format and are decoded by the device. */
  readonly decodedOnDevice: ReadonlySet<LazyTensor>;
}

/**
 * The weights of a model, loaded in advance or when their part is about to run. Streamed parts share slots of device
 * memory: once a part has run, the next one that uses its slot is loaded. In shared memory, a part's weights are held
 * from `hold` to `giveBack`, and stay until another model needs the memory.
 */
export class ModelWeights {
  readonly tensors: readonly LazyTensor[];
  readonly parts: readonly PartWeights[];
  readonly #loader: AsyncModelLoader;
  /** Shared with other models. */
  readonly #room: SharedRoom | undefined;
  /** The parts that have their own memory. */
  readonly #owners: readonly PartWeights[];
  /** By part: the owners of its weights' memory. */
  readonly #ownersOf: readonly (readonly PartWeights[])[];
  readonly #slotOf = new Map<number, StreamedWeights>();
  #wereAllResident = false;

  /**
   * Creates the weights' memory in `buffers`, which owns it; shared memory is taken by `hold`. Throws `OUT_OF_MEMORY`.
   */
  constructor(of: ModelWeightsSetup) {
    const { loader, placement, sharedMemory, decodedOnDevice } = of;
    this.#loader = loader;
    this.#room = sharedMemory?.room;
    this.tensors = [...new Set(of.parts.flat())];
    const streamed = new Set(placement.slots.flat().flatMap(({ offsets }) => [...offsets.keys()]));
    for (const tensor of this.tensors) {
      const decode = decodedOnDevice.has(tensor) ? 'device' : 'host';
      tensor.loadBy(loader, { decode, streamed: streamed.has(tensor) });
    }
    for (const tensor of this.tensors) {
      if (!tensor.isOnHost) continue;
      const buffer = of.buffers.createOnHost(`memory of ${tensor.key}`, tensor.byteLength);
      tensor.place({ buffer, offset: 0, byteLength: buffer.byteLength });
    }
    this.parts = partsWithMemory(of, (part) => of.onRelease(this.#partsIn(part)));
    this.#owners = this.parts.filter(({ ownsMemory }) => ownsMemory);
    this.#ownersOf = of.parts.map((tensors) =>
      this.#owners.filter((owner) => tensors.some((tensor) => owner.holds(tensor))),
    );
    for (const [slot, users] of placement.slots.entries()) {
      placeInSlot(of.buffers.create(`weight slot ${slot}`, placement.slotBytes), users);
      const through = new StreamedWeights(users.map(({ part }) => this.parts[part] as PartWeights));
      for (const { part } of users) this.#slotOf.set(part, through);
    }
    if (!sharedMemory) for (const owner of this.#owners) owner.create();
  }

  /** True if every weight is on the device and stays unless another model needs the memory. */
  get areResident(): boolean {
    if (this.#wereAllResident) return true;
    const areThere = this.#slotOf.size === 0 && this.tensors.every(({ isResident }) => isResident);
    this.#wereAllResident = areThere && !this.#room;
    return areThere;
  }

  /** True if some weights are streamed. */
  get areStreamed(): boolean {
    return this.#slotOf.size > 0;
  }

  /** True for a part whose weights are streamed. */
  isStreamed(part: number): boolean {
    return this.#slotOf.has(part);
  }

  /** True if a held part's weights are on the device and stay there while it is held. */
  isThere(part: number): boolean {
    return !this.#slotOf.has(part) && this.parts[part]?.areResident === true;
  }

  /** True if other models may take the weights' memory. */
  get areShared(): boolean {
    return this.#room !== undefined;
  }

  /** Requests the loading of a part's weights, after all earlier requests, if it has memory. */
  request(part: number): void {
    if (this.#slotOf.has(part)) return;
    const room = this.#room;
    if (room && !this.#memoryOf(part).every((owner) => room.has(owner))) return;
    this.parts[part]?.request();
  }

  /** Gives a part's weights memory that cannot be evicted until `giveBack`. Rejects with `OUT_OF_MEMORY`. */
  async hold(part: number): Promise<void> {
    await this.#room?.hold(this.#memoryOf(part));
  }

  giveBack(part: number): void {
    this.#room?.giveBack(this.#memoryOf(part));
  }

  /** Holds all weights if all are loaded; false otherwise. */
  holdAll(): boolean {
    return this.areResident && (this.#room?.holdIfPresent(this.#owners) ?? true);
  }

  /** Ends `holdAll`, once the work queued on a stream is done. */
  giveBackAll(stream: Stream): void {
    const room = this.#room;
    if (!room) return;
    const now = room.now();
    for (const owner of this.#owners) owner.used(stream, now);
    room.giveBack(this.#owners);
  }

  /**
   * Resolves when the uploads of a held part's weights are queued: after these events, a stream finds them complete.
   */
  async admit(part: number): Promise<readonly DeviceEvent[]> {
    const slot = this.#slotOf.get(part);
    const weights = this.parts[part] as PartWeights;
    return slot ? slot.admit(weights) : weights.queued();
  }

  /** Records that the work that reads an admitted part is queued on a stream. */
  used(part: number, stream: Stream): void {
    this.#slotOf.get(part)?.used(this.parts[part] as PartWeights, stream.record());
    const room = this.#room;
    if (!room) return;
    const now = room.now();
    for (const owner of this.#memoryOf(part)) owner.used(stream, now);
  }

  /**
   * Loads resident weights of some parts, in the given order, as far as there is memory. Rejects as
   * `AsyncModelLoader.load`.
   */
  async preload(parts: readonly number[], options: LoadOptions = {}): Promise<LoadReport> {
    const staying = this.#fitting(parts.filter((part) => !this.#slotOf.has(part)));
    const owners = [...new Set(staying.flatMap((part) => this.#memoryOf(part)))];
    await this.#room?.hold(owners, options.signal);
    try {
      const tensors = new Set(staying.flatMap((part) => this.parts[part]?.tensors ?? []));
      const wanted = [...tensors].filter(({ isResident }) => !isResident);
      return await this.#loader.load(wanted, options, (tensor, watch) => tensor.request(watch));
    } finally {
      this.#room?.giveBack(owners);
    }
  }

  /**
   * Loads weights again whose contents have changed; nothing may run meanwhile. Those that are not on the device come
   * when they are needed.
   */
  async reload(isChanged: (name: string) => boolean): Promise<void> {
    const changed = this.tensors.filter(({ names, isStreamed }) => !isStreamed && names.some(isChanged));
    const owners = this.#owners.filter((owner) => changed.some((tensor) => owner.holds(tensor)));
    const held = owners.filter((owner) => this.#room?.holdIfPresent([owner]));
    try {
      const there = changed.filter(({ state }) => state === 'resident' || state === 'loading');
      for (const tensor of there) {
        await tensor.settled();
        tensor.evict();
      }
      await Promise.all(there.map((tensor) => tensor.ready()));
    } finally {
      this.#room?.giveBack(held);
    }
  }

  /** Returns shared memory; the rest belongs to `buffers`. */
  async dispose(): Promise<void> {
    const room = this.#room;
    if (room) await Promise.all(this.#owners.map((owner) => room.leave(owner)));
  }

  #memoryOf(part: number): readonly PartWeights[] {
    return this.#ownersOf[part] ?? [];
  }

  /** The first of these parts that fit into memory together. */
  #fitting(parts: readonly number[]): readonly number[] {
    if (!this.#room) return parts;
    const { unreserved } = this.#room;
    const owners = new Set<PartWeights>();
    const end = parts.findIndex((part) => {
      for (const owner of this.#memoryOf(part)) owners.add(owner);
      return totalOf([...owners].map(({ size }) => size)) > unreserved;
    });
    return end < 0 ? parts : parts.slice(0, end);
  }

  /** The parts that have weights in this one's memory. */
  #partsIn(owner: PartWeights): number[] {
    return this.#ownersOf.flatMap((owners, part) => (owners.includes(owner) ? [part] : []));
  }
}

/** Each part's weights, with the additional memory of its buffers. */
function partsWithMemory(
  { parts, placement, buffers }: ModelWeightsSetup,
  onRelease: (part: PartWeights) => void,
): PartWeights[] {
  const { memoryRules } = buffers.device;
  const sizes: number[] = [];
  let before = 0;
  return parts.map((tensors, part) => {
    const allocations = placement.resident.filter((allocation) => allocation.part === part);
    sizes.push(...allocations.map(({ byteLength }) => byteLength));
    const bytes = memoryRules.footprint(sizes);
    const size = bytes - before;
    before = bytes;
    return new PartWeights({ tensors, allocations, size, buffers, onRelease });
  });
}

/** Assigns the weights of parts that share a slot their addresses in it. */
function placeInSlot(buffer: DeviceBuffer, users: readonly WeightAllocation[]): void {
  for (const [tensor, offset] of users.flatMap(({ offsets }) => [...offsets])) {
    tensor.place({ buffer, offset, byteLength: alignUp(tensor.byteLength, BUFFER_ALIGNMENT) });
  }
}

/** The weights that do not keep the file's format and that the device decodes, prepared for that. */
export async function decodedOnDevice(
  { device, decode }: PlanSetup,
  weights: readonly LazyTensor[],
): Promise<ReadonlySet<LazyTensor>> {
  const found = new Set<LazyTensor>();
  if (decode === 'host' || !device.readyToDecode) return found;
  for (const weight of new Set(weights)) {
    const { packed, tensors } = weight;
    const ready: boolean[] = [];
    for (const [part, { format }] of tensors.entries()) {
      if (format === packed.parts[part]?.format) continue;
      ready.push(await device.readyToDecode(packed, part, format));
    }
    if (ready.length > 0 && ready.every(Boolean)) found.add(weight);
  }
  return found;
}
