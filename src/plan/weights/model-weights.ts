import { alignUp } from '../../base/bytes.ts';
import { invariant } from '../../base/errors.ts';
import { BUFFER_ALIGNMENT, type DeviceEvent, type Stream } from '../../device/index.ts';
import type { AsyncModelLoader, LoadOptions, LoadReport } from '../../load/async-model-loader.ts';
import { LazyTensor } from '../../load/lazy-tensor.ts';
import type { SharedDeviceMemory } from '../../load/shared-device-memory.ts';
import type { PlannedWeight } from '../parts/part-plan.ts';
import { PartWeights } from './part-weights.ts';
import type { PlanBuffers } from '../memory/plan-buffers.ts';
import { WeightGroup } from './weight-group.ts';
import type { WeightAllocation, WeightPlacement } from '../memory/weight-placement.ts';
import { StreamedWeights } from './streamed-weights.ts';
import type { PlanSetup } from '../parts/plan-setup.ts';

/** What the weights of a model are made of. */
export interface ModelWeightsParts {
  /** Each part's weights, each of them once, in the order of running. */
  readonly parts: readonly (readonly PlannedWeight[])[];
  readonly placement: WeightPlacement;
  readonly buffers: PlanBuffers;
  readonly loader: AsyncModelLoader;
  /** Shares the weights' memory with other models; without, it is the model's own from the start. */
  readonly sharedMemory?: SharedDeviceMemory | undefined;
  /** Called with the parts whose weights are about to be evicted, once nothing uses their memory. */
  readonly onRelease: (parts: readonly number[]) => void;
  /** Keys of weights that the device decodes, where they do not stay as in the file. */
  readonly decodedOnDevice: ReadonlySet<string>;
}

/**
 * The weights of a model, loaded before or when their part is about to run. Streamed parts share slots of device memory: as
 * soon as a part has run, the next one that uses its slot is loaded. Where models share memory, a part's weights are held
 * from `hold` to `giveBack`, and stay until another model needs the memory.
 */
export class ModelWeights {
  readonly tensors: readonly LazyTensor[];
  readonly parts: readonly PartWeights[];
  readonly #loader: AsyncModelLoader;
  readonly #sharedMemory: SharedDeviceMemory | undefined;
  readonly #groups: readonly WeightGroup[];
  /** By part. */
  readonly #groupsOf: readonly (readonly WeightGroup[])[];
  readonly #slotOf = new Map<number, StreamedWeights>();
  #wereAllResident = false;

  /** Creates the weights' memory in `buffers`, which owns it; what is shared when it is held. Throws `OUT_OF_MEMORY`. */
  constructor(of: ModelWeightsParts) {
    const { parts, placement, buffers, sharedMemory, decodedOnDevice } = of;
    this.#loader = of.loader;
    this.#sharedMemory = sharedMemory;
    placeInSlots(of);
    const tensors = new Map<string, LazyTensor>();
    const streamed = new Set(placement.streamed.flatMap(({ offsets }) => [...offsets.keys()]));
    for (const { key, packed, tensors: files } of parts.flat()) {
      if (tensors.has(key)) continue;
      const target = buffers.find(key);
      const decode = decodedOnDevice.has(key) ? 'device' : 'host';
      const comesAgain = streamed.has(key);
      const job = { weight: packed, tensors: files, decode, comesAgain, ...(target && { target }) } as const;
      tensors.set(key, new LazyTensor(job, of.loader));
    }
    this.tensors = [...tensors.values()];
    this.parts = parts.map(
      (weights) => new PartWeights(weights.map(({ key }) => tensors.get(key) as LazyTensor)),
    );
    this.#groups = this.#makeGroups(of, tensors);
    this.#groupsOf = parts.map((weights) =>
      this.#groups.filter((group) => weights.some(({ key }) => group.has(key))),
    );
    if (!sharedMemory) for (const group of this.#groups) group.create();
    for (let slot = 0; slot < placement.slots; slot++) {
      const users = placement.streamed.filter((streamed) => streamed.slot === slot);
      const turn = new StreamedWeights(users.map(({ part }) => this.parts[part] as PartWeights));
      for (const { part } of users) this.#slotOf.set(part, turn);
    }
  }

  /** True when every weight is on the device to stay, as long as nobody else needs the memory. */
  get areResident(): boolean {
    if (this.#wereAllResident) return true;
    const areThere = this.#slotOf.size === 0 && this.tensors.every(({ isResident }) => isResident);
    this.#wereAllResident = areThere && !this.#sharedMemory;
    return areThere;
  }

  /** True when some weights never stay. */
  get areStreamed(): boolean {
    return this.#slotOf.size > 0;
  }

  /** True for a part whose weights never stay. */
  isStreamed(part: number): boolean {
    return this.#slotOf.has(part);
  }

  /** True when other models may take the weights' memory. */
  get areShared(): boolean {
    return this.#sharedMemory !== undefined;
  }

  /** Begins to load what a part needs, behind all that was asked for before, where it has memory already. */
  request(part: number): void {
    if (this.#slotOf.has(part)) return;
    const sharedMemory = this.#sharedMemory;
    if (sharedMemory && !this.#groupsAt(part).every((group) => sharedMemory.has(group))) return;
    this.parts[part]?.request();
  }

  /** Gives a part's weights memory that cannot be evicted until `giveBack`. Rejects with `OUT_OF_MEMORY`. */
  async hold(part: number): Promise<void> {
    await this.#sharedMemory?.hold(this.#groupsAt(part));
  }

  giveBack(part: number): void {
    this.#sharedMemory?.giveBack(this.#groupsAt(part));
  }

  /** Holds all weights where all are there; false otherwise. */
  holdAll(): boolean {
    return this.areResident && (this.#sharedMemory?.holdIfPresent(this.#groups) ?? true);
  }

  /** Ends `holdAll`, behind what was queued on a stream. */
  giveBackAll(stream: Stream): void {
    const sharedMemory = this.#sharedMemory;
    if (!sharedMemory) return;
    const now = sharedMemory.now();
    for (const group of this.#groups) group.used(stream, now);
    sharedMemory.giveBack(this.#groups);
  }

  /**
   * Resolves when the weights of a part, which is held, are on their way: a stream that waits for these events finds them
   * complete.
   */
  async admit(part: number): Promise<readonly DeviceEvent[]> {
    const slot = this.#slotOf.get(part);
    const weights = this.parts[part] as PartWeights;
    return slot ? slot.admit(weights) : weights.queued();
  }

  /** Notes that the work that reads an admitted part is queued on a stream. */
  used(part: number, stream: Stream): void {
    this.#slotOf.get(part)?.used(this.parts[part] as PartWeights, stream.record());
    const sharedMemory = this.#sharedMemory;
    if (!sharedMemory) return;
    const now = sharedMemory.now();
    for (const group of this.#groupsAt(part)) group.used(stream, now);
  }

  /** Loads what stays of some parts, in the order given, as far as there is memory. Rejects as `AsyncModelLoader.load`. */
  async preload(parts: readonly number[], options: LoadOptions = {}): Promise<LoadReport> {
    const staying = this.#fitting(parts.filter((part) => !this.#slotOf.has(part)));
    const groups = [...new Set(staying.flatMap((part) => this.#groupsAt(part)))];
    await this.#sharedMemory?.hold(groups, options.signal);
    try {
      const tensors = new Set(staying.flatMap((part) => this.parts[part]?.tensors ?? []));
      const wanted = [...tensors].filter(({ isResident }) => !isResident);
      return await this.#loader.follow(wanted, options, (tensor, watch) => tensor.request(watch));
    } finally {
      this.#sharedMemory?.giveBack(groups);
    }
  }

  /** Takes shared memory back; the rest is `buffers`'. */
  async dispose(): Promise<void> {
    const sharedMemory = this.#sharedMemory;
    if (sharedMemory) await Promise.all(this.#groups.map((group) => sharedMemory.leave(group)));
  }

  #groupsAt(part: number): readonly WeightGroup[] {
    return this.#groupsOf[part] ?? [];
  }

  /** The first of these parts, as many as have memory together. */
  #fitting(parts: readonly number[]): readonly number[] {
    if (!this.#sharedMemory) return parts;
    const { forWeights } = this.#sharedMemory;
    const groups = new Set<WeightGroup>();
    const end = parts.findIndex((part) => {
      for (const group of this.#groupsAt(part)) groups.add(group);
      return sumOf([...groups]) > forWeights;
    });
    return end < 0 ? parts : parts.slice(0, end);
  }

  #makeGroups(of: ModelWeightsParts, tensors: ReadonlyMap<string, LazyTensor>): WeightGroup[] {
    const { placement, buffers } = of;
    const { memoryRules } = buffers.device;
    const byPart = new Map<number, WeightAllocation[]>();
    for (const allocation of placement.resident) {
      const { part } = allocation;
      byPart.set(part, [...(byPart.get(part) ?? []), allocation]);
    }
    const sizes: number[] = [];
    let before = 0;
    return [...byPart.values()].map((allocations) => {
      sizes.push(...allocations.map(({ byteLength }) => byteLength));
      const bytes = memoryRules.footprint(sizes) - before;
      before += bytes;
      const onRelease = (group: WeightGroup) => of.onRelease(this.#partsWith(group));
      return new WeightGroup({ allocations, buffers, tensors, byteLength: bytes, onRelease });
    });
  }

  #partsWith(group: WeightGroup): number[] {
    return this.#groupsOf.flatMap((groups, part) => (groups.includes(group) ? [part] : []));
  }
}

/** Creates the slots, and gives each streamed weight its place in one. */
function placeInSlots({ parts, placement, buffers }: ModelWeightsParts): void {
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
}

function sumOf(groups: readonly WeightGroup[]): number {
  return groups.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** Keys of the weights that do not stay as in the file and that the device decodes, readied for that. */
export async function decodedOnDevice(
  { device, decode }: PlanSetup,
  parts: readonly (readonly PlannedWeight[])[],
): Promise<ReadonlySet<string>> {
  const keys = new Set<string>();
  if (decode === 'host' || !device.readyToDecode) return keys;
  for (const { key, packed, tensors } of parts.flat()) {
    const ready: boolean[] = [];
    for (const [part, { format }] of tensors.entries()) {
      if (format === packed.parts[part]?.format) continue;
      ready.push(await device.readyToDecode(packed, part, format));
    }
    if (ready.length > 0 && ready.every(Boolean)) keys.add(key);
  }
  return keys;
}
