import { type FitPlan, fitPlan, type MemoryDemand, type MemoryLimits, type StageFit } from './fit-plan.ts';
import { totalOf } from '../../device/index.ts';

/** What a stage of a pipeline needs, and what there is. */
export interface StageDemand {
  readonly demand: MemoryDemand;
  readonly limits: MemoryLimits;
  /** Its kind. */
  readonly device: string;
  /** How many layers it has. */
  readonly layers: number;
}

/** The limits of a stage; those that are no device's are those of every device of the last stage's kind. */
export function stageLimits(
  { memory, weightMemory, stageFree }: MemoryLimits,
  stage: number,
  isOfLastKind: boolean,
): MemoryLimits {
  return { free: stageFree?.[stage], ...(isOfLastKind && { memory, weightMemory }) };
}

/**
 * Plans the memory of a pipeline, stage by stage, with sizes that are those of all stages together. Throws `MODEL_TOO_LARGE` if one of
 * them has too little: none is streamed.
 */
export function fitStages(stages: readonly StageDemand[]): FitPlan {
  const fits = stages.map(({ demand, limits, device, layers }): StageFit => {
    return { ...fitPlan(demand, limits), device, layers };
  });
  const sum = (of: (fit: FitPlan) => number) => totalOf(fits.map(of));
  const most = (of: (fit: FitPlan) => number) => Math.max(...fits.map(of));
  const resident = fits.flatMap(({ placement }) => placement.resident);
  return {
    weights: sum(({ weights }) => weights),
    cache: sum(({ cache }) => cache),
    scratch: sum(({ scratch }) => scratch),
    ring: sum(({ ring }) => ring),
    loader: {
      readers: most(({ loader }) => loader.readers),
      streams: most(({ loader }) => loader.streams),
      slots: most(({ loader }) => loader.slots),
      slotBytes: most(({ loader }) => loader.slotBytes),
    },
    margin: sum(({ margin }) => margin),
    host: most(({ host }) => host),
    pinned: 0,
    draft: 0,
    total: sum(({ total }) => total),
    onDevice: sum(({ onDevice }) => onDevice),
    context: most(({ context }) => context),
    streamedParts: 0,
    expertSlots: 0,
    copied: [...new Set(fits.flatMap(({ copied }) => copied))],
    placement: {
      resident: resident.sort((a, b) => a.part - b.part),
      slots: [],
      slotBytes: 0,
      weightBytes: sum(({ placement }) => placement.weightBytes),
      hostBytes: 0,
    },
    stages: fits,
  };
}
