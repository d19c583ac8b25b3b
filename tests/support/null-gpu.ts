import type { GpuProvider } from '../../src/devices/webgpu/index.ts';

/** A device that validates its input like any other, and computes nothing. */
export interface NullGpu {
  readonly device: GPUDevice;
  /** Dawn, which is destroyed with the last reference to it. */
  readonly gpu: GpuProvider;
}

/** Opens Dawn without a GPU. */
export async function openNullGpu(features: readonly string[]): Promise<NullGpu> {
  const name = 'webgpu';
  const { create } = (await import(name)) as { create(switches: readonly string[]): GpuProvider };
  const gpu = create(['backend=null', 'enable-dawn-features=allow_unsafe_apis']);
  const adapter = await gpu.requestAdapter();
  if (!adapter) throw new Error('Dawn has no null adapter');
  return { gpu, device: await adapter.requestDevice({ requiredFeatures: features as GPUFeatureName[] }) };
}
