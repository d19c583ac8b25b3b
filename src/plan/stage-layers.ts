import { stateBytes } from '../ops/value.ts';
import type { Device } from '../device/index.ts';
import type { ExecutionPlan } from './execution-plan.ts';
import { weightsOf } from './memory-demand.ts';
import type { MemoryLimits } from './memory/fit-plan.ts';
import { describeModel, type ModelSource, type PlanOptions } from './parts/plan-options.ts';
import { legalStarts } from './ranks/stage-graphs.ts';

/**
 * A model's source with the stage of its pipeline that has all of it, if `gpuLayers` says so: the CPU for 0, the GPU for as many as there
 * are, and to begin with for `auto`. Throws as `describeModel`.
 */
export function onOneStage(source: ModelSource, options: PlanOptions): ModelSource {
  const { stages } = source.device;
  const { gpuLayers } = options;
  if (!stages || gpuLayers === undefined) return source;
  const [first, last] = [stages[0] as Device, stages.at(-1) as Device];
  if (gpuLayers === 0) return { ...source, device: first };
  if (gpuLayers === 'all' || gpuLayers === 'auto') return { ...source, device: last };
  const { layers } = describeModel(source, options).config;
  // The output counts as a layer.
  return gpuLayers > layers.length ? { ...source, device: last } : source;
}

/** The limits of a plan's device, which may be one stage of a pipeline. */
export function limitsOn({ device }: ModelSource, plan: ExecutionPlan, limits: MemoryLimits): MemoryLimits {
  const stage = device.stages?.indexOf(plan.setup.device) ?? -1;
  return stage < 0 ? limits : { ...limits, free: limits.stageFree?.[stage], stageFree: undefined };
}

/**
 * The layers at which the GPU's may start so that it needs at least so many bytes less than for all of the model, which `plan` is for;
 * the one that leaves it most layers first.
 */
export function startsWithout(plan: ExecutionPlan, excess: number): readonly number[] {
  const largest = plan.plans.at(-1);
  if (!largest) return [];
  const bytes = new Map<number, number>();
  const weights = weightsOf(plan.plans);
  for (const [index, { part }] of largest.parts.entries()) {
    const states = (part.grouped ?? []).map(({ state }) => stateBytes(state));
    const all = [...states, ...(weights[index] ?? []).map(({ byteLength }) => byteLength)];
    bytes.set(part.order, (bytes.get(part.order) ?? 0) + all.reduce((sum, of) => sum + of, 0));
  }
  const saved = (start: number) => {
    return Array.from({ length: start }, (_, layer) => bytes.get(layer + 1) ?? 0).reduce((a, b) => a + b, 0);
  };
  return legalStarts(largest.graphs).filter((start) => start > 0 && saved(start) >= excess);
}
