import type { Device } from '../device/index.ts';
import type { MemoryLimits } from './memory/fit-plan.ts';
import {
  type DealtOptions,
  describeModel,
  type ModelDescription,
  type ModelSource,
} from './parts/plan-options.ts';
import type { PlanSetup } from './parts/plan-setup.ts';

/**
 * Describes a model for its device, or for the stage of a pipeline that has all of it, if `gpuLayers` says so: the CPU for 0, the GPU
 * for as many as there are, and to begin with for `auto`. Throws as `describeModel`.
 */
export function describeOnStage(source: ModelSource, options: DealtOptions): ModelDescription {
  const { stages } = source.device;
  const { gpuLayers, ...others } = options;
  if (!stages || gpuLayers === undefined) return describeModel(source, options);
  const on = (device: Device) => describeModel({ ...source, device }, others);
  const [first, last] = [stages[0] as Device, stages.at(-1) as Device];
  if (gpuLayers === 0) return on(first);
  if (gpuLayers === 'all' || gpuLayers === 'auto') return on(last);
  const description = describeModel(source, options);
  // The output counts as a layer.
  return gpuLayers > description.config.layers.length ? on(last) : description;
}

/** The limits of a plan's device, which may be one stage of a pipeline. */
export function limitsOn({ device }: ModelSource, setup: PlanSetup, limits: MemoryLimits): MemoryLimits {
  const stage = device.stages?.indexOf(setup.device) ?? -1;
  if (stage < 0) return limits;
  const { memory, stageFree, stageMemory, ...others } = limits;
  return { ...others, free: stageFree?.[stage], memory: stageMemory?.[stage] ?? memory };
}
