import { formatByteSum } from '../../base/bytes.ts';
import { fail, invariant } from '../../base/errors.ts';
import type { MemoryBudget, MemoryRules } from '../../device/index.ts';
import { type LoaderSizes, ringBytes } from '../../load/loader-sizes.ts';
import { buffersOf, placements, type WeightPlacement, type WeightsToPlace } from './weight-placement.ts';

/** What memory a model may take, in bytes. */
export interface MemoryLimits {
  /** For everything. */
  readonly memory?: number | undefined;
  /** For the buffers of the weights on the device alone, before the driver rounds. */
  readonly weightMemory?: number | undefined;
  /**
   * Host memory that may stay pinned for streamed layers: pages of the file, from which the device copies without reads.
   * Models may share it. It counts against no other limit, because the pages are the system's cache of the file.
   */
  readonly hostMemory?: MemoryBudget | undefined;
  /** What the device has free. */
  readonly free?: number | undefined;
}

/** Where a model's memory goes, in bytes, computed from metadata before anything is allocated. Rounded as the driver rounds. */
export interface FitPlan {
  /** Device memory of the weights: all of them, or what stays and the slots that the rest passes through. */
  readonly weights: number;
  /** KV cache and token history for the context. */
  readonly cache: number;
  /** Scratch, boundaries between parts, logits, small inputs. */
  readonly scratch: number;
  /** Pinned memory that the file passes through while it loads. */
  readonly ring: number;
  /** Sizes of the loader, which decide the ring's. */
  readonly loader: LoaderSizes;
  /** Device memory besides: kernels' code, recorded steps, rows that wait to be packed. */
  readonly margin: number;
  /** Host memory of the embedding, where it stays there. */
  readonly host: number;
  /** Most bytes of file pages that stay pinned for streamed layers; part of no sum. */
  readonly pinned: number;
  /** Everything that the draft model takes; 0 without one. */
  readonly draft: number;
  readonly total: number;
  /** How much of the total lies on the device. */
  readonly onDevice: number;
  /** Positions that a sequence may have. */
  readonly context: number;
  /** Layers, and perhaps the head, whose weights are streamed in every step. */
  readonly streamedParts: number;
  /** Which weights stay, and which pass through slots. @internal */
  readonly placement: WeightPlacement;
}

/** A plan's numbers, for people and programs. */
export interface FitSummary extends Omit<FitPlan, 'placement' | 'loader'> {
  /** Bytes of all weights in the device's layouts, streamed ones included. */
  readonly allWeights: number;
  /** Buffers that hold the weights that stay. */
  readonly allocations: number;
  /** Slots of streamed layers, and the bytes of each. */
  readonly slots: number;
  readonly slotBytes: number;
}

/** The numbers alone. */
export function summaryOf(plan: FitPlan): FitSummary {
  const { placement, loader: _, ...numbers } = plan;
  const { weightBytes: allWeights, resident, slots, slotBytes } = placement;
  return { ...numbers, allWeights, allocations: resident.length, slots: slots.length, slotBytes };
}

/** What a plan is made from. */
export interface MemoryWanted extends WeightsToPlace {
  readonly rules: MemoryRules;
  /** Sizes of the buffers of the cache. */
  readonly cache: readonly number[];
  /** Sizes of all other buffers. */
  readonly scratch: readonly number[];
  /** Rows of some weight wait on the device to be laid out. */
  readonly waits: boolean;
  /** Bytes that stay in the host's memory. */
  readonly host: number;
  /** Of each part, bytes of the file that the device could copy from by itself. */
  readonly pages: readonly number[];
  /** Sizes of the loader, with streamed layers or without. */
  loader(isStreamed: boolean): LoaderSizes;
  readonly context: number;
}

/** Decides which weights stay within the limits. Throws `MODEL_TOO_LARGE` with the numbers where no choice does. */
export function fitPlan(wanted: MemoryWanted, limits: MemoryLimits): FitPlan {
  let nearest: Refusal | undefined;
  for (const placement of placements(wanted)) {
    const plan = planWith(wanted, placement, limits);
    const exceeded = boundsOf(plan, limits, wanted.rules).filter(({ bytes, most }) => bytes > most);
    const [first] = exceeded;
    if (!first) return plan;
    const excess = exceeded.reduce((sum, { bytes, most }) => sum + bytes - most, 0);
    const refusal = { bound: first, exceeded: exceeded.length, excess };
    if (!nearest || isNearer(refusal, nearest)) nearest = refusal;
  }
  invariant(nearest, 'there is always a placement');
  return refuse(nearest.bound);
}

/** Why a placement is not possible: the first limit that it exceeds, how many in all, and by how many bytes together. */
interface Refusal {
  readonly bound: Bound;
  readonly exceeded: number;
  readonly excess: number;
}

/** Of refusals by as many limits, the one with the least excess says what would suffice. */
function isNearer(a: Refusal, b: Refusal): boolean {
  return a.exceeded === b.exceeded ? a.excess < b.excess : a.exceeded < b.exceeded;
}

function planWith(
  { rules, context, ...wanted }: MemoryWanted,
  placement: WeightPlacement,
  { hostMemory }: MemoryLimits,
): FitPlan {
  const passing = placement.slots.flat();
  const loader = wanted.loader(passing.length > 0);
  const ring = ringBytes(loader);
  // Small buffers share the driver's units, so that what each kind takes depends on what was there before.
  const sizes = buffersOf(placement);
  const weights = rules.footprint(sizes);
  sizes.push(...wanted.cache);
  const cache = rules.footprint(sizes) - weights;
  sizes.push(...wanted.scratch);
  const scratch = rules.footprint(sizes) - weights - cache;
  if (wanted.waits) sizes.push(...rules.waiting(loader.streams, loader.slotBytes));
  const margin = rules.own(sizes) + rules.footprint(sizes) - weights - cache - scratch;
  const buffers = weights + cache + scratch + margin;
  const { host, pages } = wanted;
  const streamed = passing.reduce((sum, { part }) => sum + (pages[part] ?? 0), 0);
  return {
    weights,
    cache,
    scratch,
    ring,
    loader,
    margin,
    host,
    pinned: Math.min(hostMemory?.info.free ?? 0, streamed),
    draft: 0,
    total: buffers + ring + host,
    onDevice:
      buffers + (rules.pinnedInside('weights') ? ring : 0) + (rules.pinnedInside('inputs') ? host : 0),
    context,
    streamedParts: passing.length,
    placement,
  };
}

/** A limit, and what counts against it. */
interface Bound {
  readonly bytes: number;
  readonly most: number;
  /** What the bytes are for. */
  readonly parts: { readonly weights: number } & Partial<Record<OtherPart, number>>;
}

type OtherPart = 'cache' | 'scratch' | 'loading' | 'host' | 'driver';

function boundsOf(plan: FitPlan, limits: MemoryLimits, rules: MemoryRules): Bound[] {
  const { memory, free, weightMemory } = limits;
  const { total, onDevice, placement, weights, cache, scratch, margin, ring, host } = plan;
  const none = Number.POSITIVE_INFINITY;
  const buffers = buffersOf(placement).reduce((sum, bytes) => sum + bytes, 0);
  const device = { weights, cache, scratch, driver: margin };
  const pinned = {
    ...(rules.pinnedInside('weights') && { loading: ring }),
    ...(rules.pinnedInside('inputs') && { host }),
  };
  return [
    { bytes: total, most: memory ?? none, parts: { ...device, loading: ring, host } },
    { bytes: onDevice, most: free ?? none, parts: { ...device, ...pinned } },
    { bytes: buffers, most: weightMemory ?? none, parts: { weights: buffers } },
  ];
}

function refuse({ parts, most }: Bound): never {
  const taken = Object.entries(parts).filter(([name, bytes]) => bytes > 0 || name === 'weights');
  const sum = formatByteSum(Object.fromEntries(taken) as Required<Bound['parts']>);
  return fail('MODEL_TOO_LARGE', { needed: sum.total, free: sum.atMost(most), ...sum.parts });
}
