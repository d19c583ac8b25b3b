import { formatBytes } from '../base/bytes.ts';
import { fail } from '../base/errors.ts';
import {
  leastWeightBytes,
  type PartBytes,
  placeWeights,
  type StreamableParts,
  type WeightPlacement,
} from './weight-placement.ts';

/** What memory a model may take, in bytes. */
export interface MemoryLimits {
  /** For everything. */
  readonly memory?: number | undefined;
  /** For the weights on the device alone. */
  readonly weightMemory?: number | undefined;
}

/** Where a model's memory goes, in bytes, computed from metadata before anything is allocated. */
export interface FitPlan {
  /** Device memory of the weights: all of them, or what stays and the slots that the rest passes through. */
  readonly weights: number;
  /** KV cache and token history for the asked context. */
  readonly cache: number;
  /** Scratch, boundaries between parts, logits, small inputs. */
  readonly scratch: number;
  /** Host memory that the file passes through while it loads. */
  readonly staging: number;
  readonly total: number;
  /** Layers, and perhaps the head, whose weights come anew in every step. */
  readonly streamedParts: number;
  /** Which weights stay, and which pass through slots. */
  readonly placement: WeightPlacement;
}

/** A plan's numbers, for people and programs. */
export interface FitSummary extends Omit<FitPlan, 'placement'> {
  /** Bytes of all weights in the device's layouts, streamed ones included. */
  readonly allWeights: number;
  /** Places that streamed layers pass through, and the bytes of each. */
  readonly slots: number;
  readonly slotBytes: number;
}

/** The numbers alone. */
export function summaryOf({ placement, ...numbers }: FitPlan): FitSummary {
  const { weightBytes: allWeights, slots, slotBytes } = placement;
  return { ...numbers, allWeights, slots, slotBytes };
}

/** What a plan is made from. */
export interface MemoryWanted extends Pick<FitPlan, 'cache' | 'scratch' | 'staging'> {
  /** Bytes of the weights of each part, by key. */
  readonly parts: readonly PartBytes[];
  readonly streamable: StreamableParts;
}

/** Decides which weights stay within the limits. Throws `MODEL_TOO_LARGE` with the numbers where no choice does. */
export function fitPlan(wanted: MemoryWanted, limits: MemoryLimits): FitPlan {
  const { cache, scratch, staging } = wanted;
  const { memory = Number.POSITIVE_INFINITY, weightMemory = Number.POSITIVE_INFINITY } = limits;
  const budget = Math.min(weightMemory, memory - cache - scratch - staging);
  const placement = placeWeights(wanted.parts, wanted.streamable, budget);
  if (!placement) {
    const least = leastWeightBytes(wanted.parts, wanted.streamable);
    fail('MODEL_TOO_LARGE', {
      needed: formatBytes(least + cache + scratch + staging),
      free: formatBytes(Math.min(memory, weightMemory + cache + scratch + staging)),
      weights: formatBytes(least),
      cache: formatBytes(cache),
      scratch: formatBytes(scratch),
    });
  }
  const weights = placement.byteLength;
  const total = weights + cache + scratch + staging;
  return { weights, cache, scratch, staging, total, streamedParts: placement.streamed.length, placement };
}
