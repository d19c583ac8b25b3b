import {
  checkTogether,
  type FitPlan,
  fitPlan,
  type MemoryDemand,
  type MemoryLimits,
  type StageFit,
} from './fit-plan.ts';
import { totalOf } from '../../device/index.ts';

/** What a stage of a pipeline needs, and what there is. */
export interface StageDemand {
  readonly demand: MemoryDemand;
  readonly limits: MemoryLimits;
  /** Its kind. */
  readonly device: string;
  /** How many devices it is split over. */
  readonly ranks: number;
  /** How many layers it has. */
  readonly layers: number;
}

/** The limits of a stage; those that are no device's are those of every device of the last stage's kind. */
export function stageLimits(
  { memory, weightMemory, stageFree, stageMemory }: MemoryLimits,
  stage: number,
  isOfLastKind: boolean,
): MemoryLimits {
  const own = { memory: stageMemory?.[stage] ?? memory, weightMemory };
  return { free: stageFree?.[stage], ...(isOfLastKind && own) };
}

/**
 * The bytes of a plan that `MemoryLimits.memory` limits: all of them, or those of the stage of the last one's kind that has most, with
 * the draft model on the last one.
 */
export function limitedTotal({ total, draft, stages }: FitPlan): number {
  if (!stages) return total;
  const last = stages.at(-1);
  const limited = stages.filter(({ device }) => device === last?.device);
  return Math.max(...limited.map((stage) => stage.total + (stage === last ? draft : 0)));
}

/**
 * Plans the memory of a pipeline, stage by stage, with sizes that are those of all stages together. Throws `MODEL_TOO_LARGE` if they
 * have too little together, or one of them has: none is streamed.
 */
export function fitStages(stages: readonly StageDemand[]): FitPlan {
  const names = stages.map(({ device, ranks, layers }, stage) => {
    return `stage ${stage} of ${layers} layers on ${ranks === 1 ? device : `each of ${ranks} ${device}`}`;
  });
  checkTogether(
    stages.map(({ demand, limits }, stage) => {
      return { name: names[stage] as string, plan: fitPlan(demand, {}), limits, rules: demand.rules };
    }),
  );
  const fits = stages.map(({ demand, limits, ...of }, stage): StageFit => {
    return { ...fitPlan(demand, limits, names[stage]), ...of };
  });
  const sum = (of: (fit: FitPlan) => number) => totalOf(fits.map(of));
  const last = fits.at(-1) as StageFit;
  const resident = fits.flatMap(({ placement }) => placement.resident);
  return {
    weights: sum(({ weights }) => weights),
    dequantized: sum(({ dequantized }) => dequantized),
    cache: sum(({ cache }) => cache),
    scratch: sum(({ scratch }) => scratch),
    ring: sum(({ ring }) => ring),
    loader: last.loader,
    margin: sum(({ margin }) => margin),
    host: last.host,
    pinned: 0,
    draft: 0,
    total: sum(({ total }) => total),
    onDevice: sum(({ onDevice }) => onDevice),
    context: last.context,
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
