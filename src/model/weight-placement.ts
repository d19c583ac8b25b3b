import { alignUp } from '../base/bytes.ts';
import { BUFFER_ALIGNMENT } from '../device/index.ts';

/** Bytes of every weight of one part of the model, by key. */
export type PartBytes = ReadonlyMap<string, number>;

/** A part whose weights pass through a slot, and where each of them lies in it. */
export interface StreamedPart {
  /** Which part, by its place in the order of running. */
  readonly part: number;
  readonly slot: number;
  readonly offsets: ReadonlyMap<string, number>;
}

/** Which weights stay on the device, and which pass through slots. */
export interface WeightPlacement {
  /** Weights with memory of their own. */
  readonly resident: PartBytes;
  /** In the order of running. */
  readonly streamed: readonly StreamedPart[];
  readonly slots: number;
  readonly slotBytes: number;
  /** Device memory of all of it. */
  readonly byteLength: number;
  /** Bytes of all weights, wherever they are. */
  readonly weightBytes: number;
}

/** The parts that may be streamed, by their numbers in the order of running. */
export interface StreamableParts {
  readonly layers: readonly number[];
  readonly head: number;
}

/** What passes through how many slots, the quickest first: of two slots, one is computed from while the other is filled. */
const ATTEMPTS = [
  { slots: 2, withHead: false },
  { slots: 1, withHead: false },
  { slots: 1, withHead: true },
] as const;

/**
 * Places the weights of the parts, given in the order of running, within a budget of bytes: all stay if they fit; else as
 * few layers as possible, spread evenly, pass through two slots; else through one; else the head does too. What several
 * parts use stays. Undefined when even that is too much.
 */
export function placeWeights(
  parts: readonly PartBytes[],
  streamable: StreamableParts,
  budget: number,
): WeightPlacement | undefined {
  return candidates(parts, streamable).find(({ byteLength }) => byteLength <= budget);
}

/** Device memory that the weights take at least. */
export function leastWeightBytes(parts: readonly PartBytes[], streamable: StreamableParts): number {
  return Math.min(...candidates(parts, streamable).map(({ byteLength }) => byteLength));
}

/** Every placement worth considering, the quickest first. */
function candidates(parts: readonly PartBytes[], { layers, head }: StreamableParts): WeightPlacement[] {
  const all = [place(parts, [], 0)];
  for (const { slots, withHead } of ATTEMPTS) {
    const among = (withHead ? [...layers, head] : layers).filter((part) => isAlone(parts, part));
    for (let count = slots + 1; count <= among.length; count++) {
      const chosen = Array.from(
        { length: count },
        (_, i) => among[Math.floor((i * among.length) / count)] as number,
      );
      all.push(place(parts, chosen, slots));
    }
  }
  return all;
}

function place(
  parts: readonly PartBytes[],
  streamedParts: readonly number[],
  slots: number,
): WeightPlacement {
  const streamed = streamedParts.map((part, i) => ({
    part,
    slot: i % slots,
    ...layOut(parts[part] as PartBytes),
  }));
  const passing = new Set(streamedParts);
  const resident = new Map(parts.flatMap((weights, part) => (passing.has(part) ? [] : [...weights])));
  const slotBytes = Math.max(0, ...streamed.map(({ byteLength }) => byteLength));
  const weightBytes = sumOf(new Map(parts.flatMap((weights) => [...weights])));
  const byteLength = sumOf(resident) + slots * slotBytes;
  return { resident, streamed, slots, slotBytes, byteLength, weightBytes };
}

function layOut(weights: PartBytes): { offsets: Map<string, number>; byteLength: number } {
  const offsets = new Map<string, number>();
  let byteLength = 0;
  for (const [key, bytes] of weights) {
    offsets.set(key, byteLength);
    byteLength += alignUp(bytes, BUFFER_ALIGNMENT);
  }
  return { offsets, byteLength };
}

/** True when no other part uses any of its weights. */
function isAlone(parts: readonly PartBytes[], part: number): boolean {
  const keys = [...(parts[part] as PartBytes).keys()];
  return parts.every((other, i) => i === part || !keys.some((key) => other.has(key)));
}

function sumOf(weights: PartBytes): number {
  return [...weights.values()].reduce((sum, bytes) => sum + alignUp(bytes, BUFFER_ALIGNMENT), 0);
}
