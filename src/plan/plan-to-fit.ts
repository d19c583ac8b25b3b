import { fail, isRocmforgeError } from '../base/errors.ts';
import type { Device } from '../device/index.ts';
import { startsWithin } from './deal-layers.ts';
import { ExecutionPlan } from './execution-plan.ts';
import { expertSlotBytes, weightsOf } from './memory-demand.ts';
import { excessOf, type FitPlan, type MemoryLimits, type StageFit } from './memory/fit-plan.ts';
import { stageLimits } from './memory/stage-fit.ts';
import { legalStarts } from './ranks/stage-graphs.ts';
import { describeOnStage, limitsOn } from './stage-layers.ts';
import { KV_BLOCK_SIZE } from '../model/state-groups.ts';
import {
  type DealtOptions,
  DEFAULT_BATCH,
  type ModelDescription,
  type ModelSource,
  type PlanOptions,
} from './parts/plan-options.ts';

/** A model compiled from its metadata alone. Nothing is allocated. */
export interface CompiledModel {
  /** @internal */
  readonly description: ModelDescription;
  readonly plan: ExecutionPlan;
}

/** A compiled model with its memory plan. */
export interface PlannedModel extends CompiledModel {
  readonly fit: FitPlan;
  /** The options it is planned for: the context may be smaller than requested. */
  readonly options: DealtOptions;
}

/** Minimum context when it is reduced. */
const MIN_CONTEXT = 256;
/** Maximum attempts to find how many experts fit: the driver rounds. */
const SLOT_ATTEMPTS = 6;
/** Maximum attempts to deal layers out: the driver rounds, and a stage's scratch depends on its layers. */
const DEAL_ATTEMPTS = 6;
/** Maximum attempts: the savings of a smaller context are not strictly proportional. */
const ATTEMPTS = 3;

/**
 * Compiles a model for its device. Rejects with `INVALID_ARGUMENT` if there are no dequantized copies as asked for, as `describeModel`, or
 * as the device's `compile`.
 */
export async function compileModel(source: ModelSource, options: DealtOptions): Promise<CompiledModel> {
  const description = describeOnStage(source, options);
  const plan = await ExecutionPlan.compile(description.setup);
  if (options.dequantized) requireCopies(plan, source.device);
  return { description, plan };
}

/** Throws `INVALID_ARGUMENT` if no weight has a dequantized copy. */
function requireCopies({ plans }: ExecutionPlan, { dequantized: facts }: Device): void {
  const weights = weightsOf(plans).flat();
  if (weights.some(({ packed: { dequantizedBytes = 0 } }) => dequantizedBytes > 0)) return;
  const rows = facts && `steps of ${facts.minRows} tokens or more`;
  const expected = rows ? `quantized matrices, ${rows}, and the BLAS library` : 'a HIP or CUDA device';
  fail('INVALID_ARGUMENT', { name: 'dequantized', found: 'true', expected });
}

/**
 * Compiles a model, unless `compiled` was made from the same source and options, and plans its memory. If it does not
 * fit, dequantized copies that nobody asked for give way. If that does not help, on the stages of a pipeline layers move from those that
 * are too full to others. If that does not help, and experts are streamed by use or in the host's memory, as many of them are on the
 * device as fit; otherwise a large GPU's batch gives way to the usual one, then layers are on the CPU if `gpuLayers` is `auto`,
 * `shrinkContext` finds the largest context with which all weights stay resident, or layers are streamed. Rejects with
 * `MODEL_TOO_LARGE` if nothing helps, or as `describeModel`.
 */
export async function planToFit(
  source: ModelSource,
  options: DealtOptions,
  limits: MemoryLimits,
  compiled: Promise<CompiledModel> = compileModel(source, options),
): Promise<PlannedModel> {
  const { description, plan } = await compiled;
  const within = limitsOn(source, plan.setup, limits);
  if (plan.setup.experts ?? plan.setup.hotExperts)
    return planSlots(source, options, { compiled: await compiled, limits: within });
  const asked = tryFit(plan, within);
  const isWhole = 'fit' in asked && asked.fit.streamedParts === 0;
  if (!isWhole && plan.setup.dequantized && options.dequantized === undefined)
    return planToFit(source, { ...options, dequantized: false }, limits);
  const dealt = isWhole ? undefined : await dealWithin(source, options, { plan, limits });
  if (dealt && 'fit' in dealt) return dealt;
  const usesLargeBatch = options.batch === undefined && plan.shape.rows > DEFAULT_BATCH;
  if (!isWhole && usesLargeBatch) return planToFit(source, { ...options, batch: DEFAULT_BATCH }, limits);
  if (options.gpuLayers === 'auto' && !isWhole) {
    const beside = await besideCpu(source, options, { plan, limits });
    if (beside) return beside;
  }
  const nearest = dealt ?? { plan, options };
  const smaller =
    options.shrinkContext && !isWhole
      ? await shrink(source, nearest.options, { plan: nearest.plan, limits: within })
      : undefined;
  if (smaller) return smaller;
  if ('fit' in asked) return { description, plan, fit: asked.fit, options };
  throw (dealt ?? asked).refusal;
}

/** Layers that are dealt out as well as the room on the stages allows, though it does not suffice. */
interface TooLarge extends CompiledModel {
  readonly options: DealtOptions;
  readonly refusal: unknown;
}

/** Deals the layers of a pipeline's stages out by the room that is there; undefined if the caller has said where they are. */
async function dealWithin(
  source: ModelSource,
  options: DealtOptions,
  { plan, limits }: { plan: ExecutionPlan; limits: MemoryLimits },
): Promise<PlannedModel | TooLarge | undefined> {
  if (!source.device.stages || options.gpuLayers !== undefined) return undefined;
  let nearest: TooLarge | undefined;
  for (let attempt = 0; attempt < DEAL_ATTEMPTS; attempt++) {
    const starts = startsWithin(nearest?.plan ?? plan, limits);
    if (!starts || starts.join() === nearest?.options.starts?.join()) break;
    const dealt = { ...options, starts };
    const compiled = { ...(await compileModel(source, dealt)), options: dealt };
    const found = tryFit(compiled.plan, limits);
    if ('fit' in found) return { ...compiled, ...found };
    nearest = { ...compiled, ...found };
  }
  return nearest;
}

/**
 * Has as many layers on the GPU as fit there, and the others on the CPU; undefined if that does not help. The fewer layers, the less
 * memory they need.
 */
async function besideCpu(
  source: ModelSource,
  options: PlanOptions,
  { plan, limits }: { plan: ExecutionPlan; limits: MemoryLimits },
): Promise<PlannedModel | undefined> {
  const largest = plan.plans.at(-1);
  if (!source.device.stages || !largest) return undefined;
  const gpuAlone = {
    ...limits,
    stageFree: limits.stageFree?.map((free, stage) => (stage === 0 ? Number.POSITIVE_INFINITY : free)),
  };
  const starts = legalStarts(largest.graphs).filter((start) => start > 0);
  let most: (CompiledModel & { readonly options: PlanOptions }) | undefined;
  for (let [from, to] = [0, starts.length - 1]; from <= to;) {
    const middle = Math.floor((from + to) / 2);
    const fitting = { ...options, gpuLayers: plan.layerCount + 1 - (starts[middle] as number) };
    const staged = await compileModel(source, fitting);
    if ('fit' in tryFit(staged.plan, gpuAlone)) {
      most = { ...staged, options: fitting };
      to = middle - 1;
    } else from = middle + 1;
  }
  const found = most && tryFit(most.plan, limits);
  return most && found && 'fit' in found ? { ...most, fit: found.fit } : undefined;
}

/** Gives experts as many slots as fit, unless their number is given. */
async function planSlots(
  source: ModelSource,
  options: PlanOptions,
  { compiled, limits }: { compiled: CompiledModel; limits: MemoryLimits },
): Promise<PlannedModel> {
  let { description, plan } = compiled;
  let fitting = options;
  for (let attempt = 0; options.expertSlots === undefined && attempt < SLOT_ATTEMPTS; attempt++) {
    const whole = plan.fit();
    const excess = excessOf(whole, limits, plan.setup.device.memoryRules);
    if (excess <= 0 || whole.expertSlots === 1) break;
    const fewer = Math.ceil(excess / expertSlotBytes(plan.plans));
    fitting = { ...options, expertSlots: Math.max(1, whole.expertSlots - fewer) };
    ({ description, plan } = await compileModel(source, fitting));
  }
  return { description, plan, fit: plan.fit(limits), options: fitting };
}

async function shrink(
  source: ModelSource,
  options: DealtOptions,
  { plan, limits }: { plan: ExecutionPlan; limits: MemoryLimits },
): Promise<PlannedModel | undefined> {
  let whole = plan.fit();
  let larger: FitPlan | undefined;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const context = contextWithin(whole, limits, larger);
    if (context < MIN_CONTEXT || context >= whole.context) return undefined;
    const { cachePositions } = options;
    const share = context / plan.setup.context;
    const scaled = cachePositions && Math.max(context, Math.floor(cachePositions * share));
    const fitting = { ...options, context, cachePositions: scaled, shrinkContext: false };
    const { description, plan: smaller } = await compileModel(source, fitting);
    const found = tryFit(smaller, limits);
    if ('fit' in found && found.fit.streamedParts === 0) {
      return { description, plan: smaller, fit: found.fit, options: fitting };
    }
    larger = whole;
    whole = smaller.fit();
  }
  return undefined;
}

/**
 * Estimates the context with which a plan would be within the limits if only its cache shrank: interpolated with
 * `larger` if a larger context was tried, since windows keep their size; otherwise proportionally.
 */
function contextWithin(fit: FitPlan, limits: MemoryLimits, larger?: FitPlan): number {
  const { total, onDevice, cache, context, stages } = fit;
  if (stages) {
    const backend = stages.at(-1)?.device;
    const of = (stage: StageFit, index: number) =>
      contextWithin(stage, stageLimits(limits, index, stage.device === backend), larger?.stages?.[index]);
    return Math.min(...stages.map(of));
  }
  const { memory = total, free = onDevice } = limits;
  const excess = Math.max(0, total - memory, onDevice - free);
  const than = larger ?? { cache: 0, context: 0 };
  const bytesEach = (than.cache - cache) / (than.context - context);
  const positions = excess === 0 ? context : context - excess / bytesEach;
  return Math.floor(positions / KV_BLOCK_SIZE) * KV_BLOCK_SIZE;
}

/** A memory plan, or why there is none. */
function tryFit(plan: ExecutionPlan, limits: MemoryLimits): { fit: FitPlan } | { refusal: unknown } {
  try {
    return { fit: plan.fit(limits) };
  } catch (refusal) {
    if (isRocmforgeError(refusal, 'MODEL_TOO_LARGE')) return { refusal };
    throw refusal;
  }
}
