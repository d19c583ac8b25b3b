import { formatByteSum } from '../../base/bytes.ts';
import { fail, invariant } from '../../base/errors.ts';
import {
  type Device,
  type MemoryBudget,
  type MemoryInfo,
  type MemoryRules,
  memoryShares,
  totalOf,
} from '../../device/index.ts';
import { type LoaderSizes, ringBytes } from '../../load/loader-sizes.ts';
import { buffersOf, placements, type WeightPlacement, type WeightsToPlace } from './weight-placement.ts';

/** Memory limits of a model, in bytes. */
export interface MemoryLimits {
  /** For everything; on a pipeline for each stage of the last one's kind, on a group for each of its devices. */
  readonly memory?: number | undefined;
  /** For the weight buffers on the device alone, before the driver's rounding. */
  readonly weightMemory?: number | undefined;
  /**
   * Host memory that may stay pinned: pages of the file for streamed layers, from which the device copies without
   * reads, and experts in the host's memory. Models may share it. It does not count against other limits.
   */
  readonly hostMemory?: MemoryBudget | undefined;
  /** The device's free memory. */
  readonly free?: number | undefined;
  /** The free memory of each of its stages, if it is a pipeline. */
  readonly stageFree?: readonly number[] | undefined;
  /** What each of these has of `memory`, if not all of it. */
  readonly stageMemory?: readonly number[] | undefined;
}

/**
 * Where a model's memory goes, in bytes, computed from metadata before anything is allocated, with the driver's
 * rounding.
 */
export interface FitPlan {
  /** Device memory of the weights: all of them, or the resident ones and the slots for the others. */
  readonly weights: number;
  /** Their part that are dequantized copies. */
  readonly dequantized: number;
  /** KV cache and token history for the context. */
  readonly cache: number;
  /** Scratch, outputs of parts, logits, small inputs. */
  readonly scratch: number;
  /** Pinned staging memory while the file loads. */
  readonly ring: number;
  /** Sizes of the loader, which determine the ring. */
  readonly loader: LoaderSizes;
  /** Other device memory: kernel code, recorded steps, rows waiting to be packed. */
  readonly margin: number;
  /** Host memory of the embedding, if it stays there. */
  readonly host: number;
  /** Maximum bytes of host memory that stay pinned: experts, and file pages for what is streamed; not part of the totals. */
  readonly pinned: number;
  /** The whole draft model; 0 without one. */
  readonly draft: number;
  readonly total: number;
  /** The device's part of the total. */
  readonly onDevice: number;
  /** Maximum positions of a sequence. */
  readonly context: number;
  /** Number of layers, and possibly the head, whose weights are streamed in every step. */
  readonly streamedParts: number;
  /** Experts of each layer for which there is room on the device, if they are streamed or in the host's memory; otherwise 0. */
  readonly expertSlots: number;
  /** The large matrices of which every device of a group has all, because they cannot be cut for as many: `blk.*.ffn_down_exps.weight`. */
  readonly copied: readonly string[];
  /** Which weights are resident, and which pass through slots. @internal */
  readonly placement: WeightPlacement;
  /** The plans of a pipeline's stages, of which the sizes are the sums. Absent on other devices. */
  readonly stages?: readonly StageFit[];
}

/** The free memory of a device, or with `alone` all that it has: as if nothing else used it. */
export async function freeOf(
  device: Device,
  { alone = false }: { readonly alone?: boolean } = {},
): Promise<Pick<MemoryLimits, 'free' | 'stageFree'>> {
  const sizeOf = ({ total, free }: MemoryInfo) => (alone ? total : free);
  const { stages } = device;
  if (!stages) return { free: sizeOf(await device.memory()) };
  const stageFree = (await memoryShares(stages)).map(sizeOf);
  return { free: totalOf(stageFree), stageFree };
}

/** The part of a memory plan that is that of a pipeline's stage. */
export interface StageFit extends FitPlan {
  /** The stage's kind of device. */
  readonly device: string;
  /** How many devices it is split over, each of which needs as much. */
  readonly ranks: number;
  /** How many layers it has. */
  readonly layers: number;
}

/** A plan's numbers, for people and programs. */
export interface FitSummary extends Omit<FitPlan, 'placement' | 'loader' | 'stages'> {
  /** Bytes of all weights in the device's layouts, including streamed ones. */
  readonly allWeights: number;
  /** Number of buffers for resident weights. */
  readonly allocations: number;
  /** Number of slots for streamed layers, and the bytes of each. */
  readonly slots: number;
  readonly slotBytes: number;
  /** Of each stage of a pipeline. */
  readonly stages?: readonly StageSummary[];
}

/** The numbers of a pipeline's stage. */
export type StageSummary = Pick<
  StageFit,
  'device' | 'ranks' | 'layers' | 'weights' | 'cache' | 'scratch' | 'ring' | 'margin' | 'total' | 'onDevice'
>;

/** The plan's numbers alone. */
export function summaryOf(plan: FitPlan): FitSummary {
  const { placement, loader: _, stages, ...numbers } = plan;
  const { weightBytes: allWeights, resident, slots, slotBytes } = placement;
  return {
    ...numbers,
    allWeights,
    allocations: resident.length,
    slots: slots.length,
    slotBytes,
    ...(stages && { stages: stages.map(stageSummary) }),
  };
}

function stageSummary(stage: StageFit): StageSummary {
  const { device, ranks, layers, weights, cache, scratch, ring, margin, total, onDevice } = stage;
  return { device, ranks, layers, weights, cache, scratch, ring, margin, total, onDevice };
}

/** What a plan is computed from. */
export interface MemoryDemand extends WeightsToPlace {
  readonly rules: MemoryRules;
  /** Sizes of the cache buffers. */
  readonly cache: readonly number[];
  /** Sizes of all other buffers. */
  readonly scratch: readonly number[];
  /** Whether rows of some weight wait on the device to be packed. */
  readonly waits: boolean;
  /** Bytes that stay in host memory. */
  readonly host: number;
  /** For each part, bytes of the file that the device could copy directly from pinned pages. */
  readonly pages: readonly number[];
  /** The same for all experts that are streamed by use. */
  readonly expertPages: number;
  readonly expertSlots: number;
  /** As `FitPlan`. */
  readonly copied: readonly string[];
  /** Whether the ring is on this device; otherwise it is that of another stage, and rows pass through a copy here. */
  readonly hasRing: boolean;
  /** Sizes of the loader, with or without streamed layers. */
  loader(isStreamed: boolean): LoaderSizes;
  readonly context: number;
}

/**
 * Decides which weights are resident within the limits. Throws `MODEL_TOO_LARGE` with the numbers, and the `place` that they are of if it
 * is not the model, if nothing fits.
 */
export function fitPlan(wanted: MemoryDemand, limits: MemoryLimits, place?: string): FitPlan {
  let nearest: Refusal | undefined;
  for (const placement of placements(wanted)) {
    const plan = planWith(wanted, placement, limits);
    const exceeded = boundsOf(plan, limits, wanted.rules).filter(isExceeded);
    const [first] = exceeded;
    if (!first) return plan;
    const excess = exceeded.reduce((sum, { bytes, limit }) => sum + bytes - limit, 0);
    const refusal = { bound: first, exceeded: exceeded.length, excess };
    if (!nearest || isNearer(refusal, nearest)) nearest = refusal;
  }
  invariant(nearest, 'there is always a placement');
  return refuse(nearest.bound, place);
}

/**
 * Why a placement is not possible: the first limit that it exceeds, how many it exceeds, and by how many bytes in
 * total.
 */
interface Refusal {
  readonly bound: Bound;
  readonly exceeded: number;
  readonly excess: number;
}

/** Among refusals by the same number of limits, the one with the least excess is closest to fitting. */
function isNearer(a: Refusal, b: Refusal): boolean {
  return a.exceeded === b.exceeded ? a.excess < b.excess : a.exceeded < b.exceeded;
}

function planWith(
  { rules, context, ...wanted }: MemoryDemand,
  placement: WeightPlacement,
  { hostMemory }: MemoryLimits,
): FitPlan {
  const passing = placement.slots.flat();
  const loader = wanted.loader(passing.length > 0);
  const ring = wanted.hasRing ? ringBytes(loader) : 0;
  // Small buffers share the driver's allocation units, so the cost of each kind depends on the ones before.
  const sizes = buffersOf(placement);
  const weights = rules.footprint(sizes);
  sizes.push(...wanted.cache);
  const cache = rules.footprint(sizes) - weights;
  sizes.push(...wanted.scratch);
  const scratch = rules.footprint(sizes) - weights - cache;
  if (wanted.waits) sizes.push(...rules.waiting(loader.streams, loader.slotBytes));
  const isCopied = !wanted.hasRing && rules.pinnedInside('weights');
  if (isCopied) sizes.push(...Array.from({ length: loader.streams }, () => loader.slotBytes));
  const margin = rules.own(sizes) + rules.footprint(sizes) - weights - cache - scratch;
  const buffers = weights + cache + scratch + margin;
  const { host, pages, expertPages, expertSlots, copied } = wanted;
  const streamed = expertPages + passing.reduce((sum, { part }) => sum + (pages[part] ?? 0), 0);
  return {
    weights,
    dequantized: totalOf(wanted.parts.flat().map(({ packed }) => packed.dequantizedBytes ?? 0)),
    cache,
    scratch,
    ring,
    loader,
    margin,
    host,
    pinned: placement.hostBytes + Math.min(hostMemory?.info.free ?? 0, streamed),
    draft: 0,
    total: buffers + ring + host,
    onDevice:
      buffers + (rules.pinnedInside('weights') ? ring : 0) + (rules.pinnedInside('inputs') ? host : 0),
    context,
    streamedParts: passing.length,
    expertSlots,
    copied,
    placement,
  };
}

/** A limit, and what counts against it. */
interface Bound {
  readonly bytes: number;
  readonly limit: number;
  /** What the bytes are used for. */
  readonly parts: Readonly<Partial<Record<PartOfMemory, number>>>;
}

type PartOfMemory = 'weights' | 'experts' | 'cache' | 'scratch' | 'loading' | 'host' | 'driver';

function boundsOf(plan: FitPlan, limits: MemoryLimits, rules: MemoryRules): Bound[] {
  const { memory, free, weightMemory, hostMemory } = limits;
  const { total, onDevice, placement, weights, cache, scratch, margin, ring, host } = plan;
  const none = Number.POSITIVE_INFINITY;
  const buffers = buffersOf(placement).reduce((sum, bytes) => sum + bytes, 0);
  const device = { weights, cache, scratch, driver: margin };
  const pinned = {
    ...(rules.pinnedInside('weights') && { loading: ring }),
    ...(rules.pinnedInside('inputs') && { host }),
  };
  return [
    { bytes: total, limit: memory ?? none, parts: { ...device, loading: ring, host } },
    { bytes: onDevice, limit: free ?? none, parts: { ...device, ...pinned } },
    { bytes: buffers, limit: weightMemory ?? none, parts: { weights: buffers } },
    {
      bytes: placement.hostBytes,
      limit: placement.hostBytes === 0 ? none : (hostMemory?.info.free ?? none),
      parts: { experts: placement.hostBytes },
    },
  ];
}

/** The most bytes by which a plan exceeds one of the limits of the device's memory; negative if it leaves so many of each. */
export function excessOf(plan: FitPlan, limits: MemoryLimits, rules: MemoryRules): number {
  const { bytes, limit } = tightestOf(plan, limits, rules);
  return bytes - limit;
}

/** Of the limits of the device's memory, that which a plan exceeds most, or of which it leaves least. */
function tightestOf(plan: FitPlan, { hostMemory: _, ...limits }: MemoryLimits, rules: MemoryRules): Bound {
  return boundsOf(plan, limits, rules).reduce((a, b) => (b.bytes - b.limit > a.bytes - a.limit ? b : a));
}

/** The plan of one of several stages, by its name. */
interface NamedPlan {
  readonly name: string;
  readonly plan: FitPlan;
  readonly limits: MemoryLimits;
  readonly rules: MemoryRules;
}

/** Throws `MODEL_TOO_LARGE` with the sums, and the stages that are too small, if plans need more than all of their stages have. */
export function checkTogether(plans: readonly NamedPlan[]): void {
  const bounds = plans.map(({ plan, limits, rules }) => tightestOf(plan, limits, rules));
  const [bytes, limit] = [totalOf(bounds.map((of) => of.bytes)), totalOf(bounds.map((of) => of.limit))];
  if (bytes <= limit) return;
  const parts: Partial<Record<PartOfMemory, number>> = {};
  for (const [name, of] of bounds.flatMap((bound) => Object.entries(bound.parts))) {
    const part = name as PartOfMemory;
    parts[part] = (parts[part] ?? 0) + of;
  }
  const tooSmall = plans.filter((_, stage) => isExceeded(bounds[stage] as Bound)).map(({ name }) => name);
  refuse({ bytes, limit, parts }, `the model on ${plans.length} stages (too small: ${tooSmall.join(', ')})`);
}

function isExceeded({ bytes, limit }: Bound): boolean {
  return bytes > limit;
}

function refuse({ parts, limit }: Bound, place?: string): never {
  const taken = Object.entries(parts).filter(([name, bytes]) => bytes > 0 || name === 'weights');
  const sum = formatByteSum(Object.fromEntries(taken) as Required<Bound['parts']>);
  return fail('MODEL_TOO_LARGE', {
    ...(place !== undefined && { place }),
    needed: sum.total,
    free: sum.atMost(limit),
    ...sum.parts,
  });
}
