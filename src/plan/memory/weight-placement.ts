import { alignUp } from '../../base/bytes.ts';
import { BUFFER_ALIGNMENT } from '../../device/index.ts';

/** Bytes of every weight of one part of the model, by key. */
export type PartBytes = ReadonlyMap<string, number>;

/** A buffer for weights that stay, and where each of them lies in it. */
export interface WeightAllocation {
  /** The first part that uses them, by its place in the order of running. */
  readonly part: number;
  readonly label: string;
  readonly byteLength: number;
  readonly offsets: ReadonlyMap<string, number>;
}

/** A part whose weights pass through a slot, and where each of them lies in it. */
export interface StreamedPart {
  /** Which part, by its place in the order of running. */
  readonly part: number;
  readonly slot: number;
  readonly offsets: ReadonlyMap<string, number>;
}

/** Which weights stay on the device, and which pass through slots. */
export interface WeightPlacement {
  /** In the order of running. */
  readonly resident: readonly WeightAllocation[];
  /** In the order of running. */
  readonly streamed: readonly StreamedPart[];
  readonly slots: number;
  readonly slotBytes: number;
  /** Bytes of all weights, wherever they are. */
  readonly weightBytes: number;
}

/** The parts that may be streamed, by their numbers in the order of running. */
export interface StreamableParts {
  readonly layers: readonly number[];
  readonly head: number;
}

/** What is placed, and how. */
export interface WeightsToPlace {
  /** In the order of running. */
  readonly parts: readonly PartBytes[];
  readonly streamable: StreamableParts;
  /** Bytes that the weights of a part may take in one buffer; undefined gives each weight a buffer of its own. */
  readonly poolBytes?: number | undefined;
}

/**
 * What is streamed through how many slots, the fastest first: with two slots, one is computed from while the other is filled.
 */
const ATTEMPTS = [
  { slots: 2, withHead: false },
  { slots: 1, withHead: false },
  { slots: 1, withHead: true },
] as const;

/**
 * Every placement worth considering, the fastest first: all weights stay; as few layers as possible, spread evenly, are
 * streamed through two slots; then through one; then the head, too. Weights that several parts use stay.
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

/** Sizes of the buffers that a placement takes. */
export function buffersOf({ resident, slots, slotBytes }: WeightPlacement): number[] {
  return [...resident.map(({ byteLength }) => byteLength), ...Array.from({ length: slots }, () => slotBytes)];
}

function spread(among: readonly number[], count: number): number[] {
  return Array.from({ length: count }, (_, i) => among[Math.floor((i * among.length) / count)] as number);
}

function place(weights: WeightsToPlace, streamedParts: readonly number[], slots: number): WeightPlacement {
  const { parts } = weights;
  const streamed = streamedParts.map((part, i) => ({
    part,
    slot: i % slots,
    ...layOut([...(parts[part] as PartBytes)]),
  }));
  const slotBytes = Math.max(0, ...streamed.map(({ byteLength }) => byteLength));
  const all = new Map(parts.flatMap((bytes) => [...bytes]));
  const weightBytes = [...all.values()].reduce((sum, bytes) => sum + alignUp(bytes, BUFFER_ALIGNMENT), 0);
  return { resident: allocate(weights, new Set(streamedParts)), streamed, slots, slotBytes, weightBytes };
}

/** Buffers for the weights of all parts but those that are left out. */
function allocate(
  { parts, poolBytes = 0 }: WeightsToPlace,
  without: ReadonlySet<number>,
): WeightAllocation[] {
  const allocations: WeightAllocation[] = [];
  const placed = new Set<string>();
  parts.forEach((weights, part) => {
    if (without.has(part)) return;
    let pool: [string, number][] = [];
    let filled = 0;
    const close = () => {
      const [first] = pool;
      if (first) allocations.push({ part, label: first[0], ...layOut(pool) });
      pool = [];
      filled = 0;
    };
    for (const [key, bytes] of weights) {
      if (placed.has(key)) continue;
      placed.add(key);
      if (filled + bytes > poolBytes) close();
      pool.push([key, bytes]);
      filled += alignUp(bytes, BUFFER_ALIGNMENT);
    }
    close();
  });
  return allocations;
}

/** One weight behind the other. */
function layOut(weights: readonly (readonly [string, number])[]): {
  offsets: Map<string, number>;
  byteLength: number;
} {
  const offsets = new Map<string, number>();
  let byteLength = 0;
  for (const [key, bytes] of weights) {
    offsets.set(key, byteLength);
    byteLength += alignUp(bytes, BUFFER_ALIGNMENT);
  }
  return { offsets, byteLength };
}

/** Parts none of whose weights another part uses. */
function partsAlone(parts: readonly PartBytes[]): Set<number> {
  const users = new Map<string, number>();
  for (const key of parts.flatMap((part) => [...part.keys()])) users.set(key, (users.get(key) ?? 0) + 1);
  const isAlone = (part: PartBytes) => [...part.keys()].every((key) => users.get(key) === 1);
  return new Set(parts.flatMap((part, i) => (isAlone(part) ? [i] : [])));
}
