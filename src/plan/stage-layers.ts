import type { Device } from '../device/index.ts';
import type { ExecutionPlan } from './execution-plan.ts';
import type { MemoryLimits } from './memory/fit-plan.ts';
import { describeModel, type ModelSource, type PlanOptions } from './parts/plan-options.ts';

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
