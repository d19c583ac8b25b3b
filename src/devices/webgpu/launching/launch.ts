import type { GPUBindGroup, GPUBuffer, GPUComputePipeline, GPUDevice } from '../../../base/web-types.ts';
import { alignUp } from '../../../base/bytes.ts';
import type { Access, KernelModule, Parameter } from './kernel-module.ts';
import type { GpuKernel, PipelineStore } from './pipeline-store.ts';

/** A range of a GPU buffer. */
export interface GpuRange {
  readonly buffer: GPUBuffer;
  readonly offset: number;
  readonly byteLength: number;
}

/** A kernel with its memory, before its pipeline is known. */
export interface Launch {
  readonly module: KernelModule;
  readonly ranges: readonly GpuRange[];
  readonly grid: readonly [number, number, number];
}

/** A complete dispatch: running it only encodes it. */
export interface Dispatch {
  /** The kernel's. */
  readonly name: string;
  readonly pipeline: GPUComputePipeline;
  readonly bindGroup: GPUBindGroup;
  readonly grid: readonly [number, number, number];
}

/** Bindings are whole vectors; buffers are padded to them. */
const BINDING_BYTES = 16;

/** How the parameters are bound: one that is only read is bound for writing if another one writes its buffer. */
export function accessesOf({ parameters }: KernelModule, buffers: readonly unknown[]): Access[] {
  const written = writtenBuffers(parameters, buffers);
  return parameters.map(({ access }, i) => (access === 'read' && written.has(buffers[i]) ? 'write' : access));
}

/** The buffers that a launch writes to. */
function writtenBuffers<B>(parameters: readonly Parameter[], buffers: readonly B[]): Set<B> {
  return new Set(buffers.filter((_, i) => parameters[i]?.access === 'write'));
}

/**
 * The index tensors of a launch in a buffer of which it writes another part, and which must therefore be bound
 * elsewhere.
 */
export function clashingIndices({ module: { parameters }, ranges }: Launch): GpuRange[] {
  const written = writtenBuffers(
    parameters,
    ranges.map(({ buffer }) => buffer),
  );
  return ranges.filter(({ buffer }, i) => parameters[i]?.access === 'uniform' && written.has(buffer));
}

/** Compiles what a launch needs and creates its bind group. Rejects with `SHADER_COMPILE`. */
export async function prepareLaunch(
  { module, ranges, grid }: Launch,
  store: PipelineStore,
  device: GPUDevice,
): Promise<Dispatch> {
  const accesses = accessesOf(
    module,
    ranges.map(({ buffer }) => buffer),
  );
  const kernel = await store.load(module, accesses);
  return {
    name: module.name,
    pipeline: kernel.pipeline,
    bindGroup: bindGroup(kernel, module, ranges, device),
    grid,
  };
}

/** The ranges as a kernel's bindings. */
export function bindGroup(
  { layout }: GpuKernel,
  { name }: KernelModule,
  ranges: readonly GpuRange[],
  device: GPUDevice,
): GPUBindGroup {
  return device.createBindGroup({
    label: name,
    layout,
    entries: ranges.map(({ buffer, offset, byteLength }, binding) => ({
      binding,
      resource: { buffer, offset, size: alignUp(byteLength, BINDING_BYTES) },
    })),
  });
}
