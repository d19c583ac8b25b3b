import { alignUp } from '../../base/bytes.ts';
import { BUFFER_ALIGNMENT } from '../../device/index.ts';
import type { LazyTensor } from '../../load/lazy-tensor.ts';

/** Weights of one part that are contiguous in one buffer. */
export interface WeightAllocation {
  /** The part, by its index in execution order; for weights that several parts read, the first of them. */
  readonly part: number;
  readonly byteLength: number;
  readonly offsets: ReadonlyMap<LazyTensor, number>;
}

/** Which weights are resident, and which pass through slots. */
export interface WeightPlacement {
  /** The buffers of resident weights, in execution order. */
  readonly resident: readonly WeightAllocation[];
  /** For each slot, the parts whose weights pass through it, in execution order. */
  readonly slots: readonly (readonly WeightAllocation[])[];
  readonly slotBytes: number;
  /** Bytes of all weights, wherever they are; copies of others are not counted. */
  readonly weightBytes: number;
  /** Bytes of weights in the host's memory, each in a buffer of its own. */
  readonly hostBytes: number;
}

/** The parts that may be streamed, by their index in execution order. */
export interface StreamableParts {
  readonly layers: readonly number[];
  readonly head: number;
}

/** What is placed, and how. */
export interface WeightsToPlace {
  /** The weights that each part reads, in execution order. */
  readonly parts: readonly (readonly LazyTensor[])[];
  readonly streamable: StreamableParts;
  /** Maximum bytes of a buffer for all weights of a part; undefined gives each weight its own buffer. */
  readonly poolBytes?: number | undefined;
}

/**
 * What is streamed, and through how many slots, fastest first: with two slots, one is filled while the device computes
 * from the other.
 */
const ATTEMPTS = [
  { slots: 2, withHead: false },
  { slots: 1, withHead: false },
  { slots: 1, withHead: true },
] as const;

/**
 * Every placement worth considering, fastest first: all weights resident; as few layers as possible, evenly spaced,
 * streamed through two slots; then all through one; then the head as well. Weights that several parts use are always
 * resident.
 */
export function* placements(weights: WeightsToPlace): Generator<WeightPlacement, void> {
  const { parts, streamable } = weights;
  yield place(weights, [], 0);
  const alone = partsAlone(parts);
  for (const { slots, withHead } of ATTEMPTS) {
    const among = [...streamable.layers, ...(withHead ? [streamable.head] : [])].filter((part) =>
      alone.has(part),
    );
    for (let count = slots + 1; count <= among.length; count++) {
      yield place(weights, spread(among, count), slots);
    }
  }
}

/** Sizes of the buffers of a placement. */
export function buffersOf({ resident, slots, slotBytes }: WeightPlacement): number[] {
  return [...resident.map(({ byteLength }) => byteLength), ...slots.map(() => slotBytes)];
}

function spread(among: readonly number[], count: number): number[] {
  return Array.from({ length: count }, (_, i) => among[Math.floor((i * among.length) / count)] as number);
}

function place(weights: WeightsToPlace, streamed: readonly number[], slotCount: number): WeightPlacement {
  const { parts } = weights;
  const all = [...new Set(parts.flat())];
  const onHost = all.filter(({ isOnHost }) => isOnHost);
  const passing = streamed.map((part) => ({ part, ...layOut(parts[part] ?? []) }));
  const slots = Array.from({ length: slotCount }, (_, slot) =>
    passing.filter((_of, i) => i % slotCount === slot),
  );
  const slotBytes = Math.max(0, ...passing.map(({ byteLength }) => byteLength));
  const { byteLength: weightBytes } = layOut(all.filter(({ isCopy }) => !isCopy));
  const { byteLength: hostBytes } = layOut(onHost);
  return { resident: allocate(weights, new Set(streamed)), slots, slotBytes, weightBytes, hostBytes };
}

/** Buffers for the weights of all parts except the excluded ones. */
function allocate(
  { parts, poolBytes = 0 }: WeightsToPlace,
  without: ReadonlySet<number>,
): WeightAllocation[] {
  const allocations: WeightAllocation[] = [];
  const placed = new Set<LazyTensor>();
  parts.forEach((weights, part) => {
    if (without.has(part)) return;
    let pool: LazyTensor[] = [];
    let filled = 0;
    const close = () => {
      if (pool.length > 0) allocations.push({ part, ...layOut(pool) });
      pool = [];
      filled = 0;
    };
    for (const weight of weights) {
      if (placed.has(weight) || weight.isOnHost) continue;
      placed.add(weight);
      if (filled + weight.byteLength > poolBytes) close();
      pool.push(weight);
      filled += alignUp(weight.byteLength, BUFFER_ALIGNMENT);
    }
    close();
  });
  return allocations;
}

/** Lays out weights one after another. */
function layOut(weights: readonly LazyTensor[]): Omit<WeightAllocation, 'part'> {
  const offsets = new Map<LazyTensor, number>();
  let byteLength = 0;
  for (const weight of weights) {
    offsets.set(weight, byteLength);
    byteLength += alignUp(weight.byteLength, BUFFER_ALIGNMENT);
  }
  return { offsets, byteLength };
}

/** Parts that share no weights with other parts. */
function partsAlone(parts: readonly (readonly LazyTensor[])[]): Set<number> {
  const users = new Map<LazyTensor, number>();
  for (const weight of parts.flat()) users.set(weight, (users.get(weight) ?? 0) + 1);
  return new Set(parts.flatMap((part, i) => (part.every((weight) => users.get(weight) === 1) ? [i] : [])));
}
