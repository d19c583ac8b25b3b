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

/** One slot is computed from while the other is filled. */
const SLOTS = 2;

/**
 * Places the weights of the parts, given in the order of running, within a budget of bytes: all stay if they fit; else as
 * few layers as possible, spread evenly, pass through slots. What several parts use stays, and so does what is not one of
 * the `layers`. Undefined when even that is too much.
 */
export function placeWeights(
  parts: readonly PartBytes[],
  layers: ReadonlySet<number>,
  budget: number,
): WeightPlacement | undefined {
  const streamable = [...layers].filter((part) => isAlone(parts, part));
  const counts = Array.from({ length: Math.max(0, streamable.length - SLOTS) }, (_, i) => SLOTS + 1 + i);
  for (const count of [0, ...counts]) {
    const chosen = Array.from(
      { length: count },
      (_, i) => streamable[Math.floor((i * streamable.length) / count)] as number,
    );
    const placement = place(parts, chosen);
    if (placement.byteLength <= budget) return placement;
  }
  return undefined;
}

/** Device memory that the weights take at least: with every layer passing through slots. */
export function leastWeightBytes(parts: readonly PartBytes[], layers: ReadonlySet<number>): number {
  const streamable = [...layers].filter((part) => isAlone(parts, part));
  const all = place(parts, []).byteLength;
  return streamable.length > SLOTS ? Math.min(all, place(parts, streamable).byteLength) : all;
}

function place(parts: readonly PartBytes[], streamedParts: readonly number[]): WeightPlacement {
  const streamed = streamedParts.map((part, i): StreamedPart & { byteLength: number } => {
    const { offsets, byteLength } = layOut(parts[part] as PartBytes);
    return { part, slot: i % SLOTS, offsets, byteLength };
  });
  const passing = new Set(streamedParts);
  const resident = new Map(parts.flatMap((weights, part) => (passing.has(part) ? [] : [...weights])));
  const slots = streamed.length > 0 ? SLOTS : 0;
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
