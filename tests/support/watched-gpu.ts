import type { GpuProvider } from '../../src/devices/webgpu/index.ts';

/** Calls that allocate on the GPU, or create the parts of a step. */
export const GPU_CREATIONS = [
  'createBindGroup',
  'createBindGroupLayout',
  'createBuffer',
  'createComputePipeline',
  'createComputePipelineAsync',
  'createPipelineLayout',
  'createQuerySet',
  'createShaderModule',
] as const;

const WATCHED = [...GPU_CREATIONS, 'createCommandEncoder'] as const;

/** A GPU that counts its devices' calls. */
export interface WatchedGpu {
  readonly gpu: GpuProvider;
  readonly calls: Map<string, number>;
  /** Buffers that were created and not destroyed. */
  readonly buffers: ReadonlySet<GPUBuffer>;
  /** The most recently requested device. */
  device(): GPUDevice;
}

interface Dawn {
  create(switches: readonly string[]): GpuProvider;
}

/** Dawn, with its calls observed. The devices themselves are real. */
export async function watchedGpu(): Promise<WatchedGpu> {
  const name = 'webgpu';
  const dawn = ((await import(name)) as Dawn).create(['enable-dawn-features=disable_workgroup_init']);
  const calls = new Map<string, number>();
  const buffers = new Set<GPUBuffer>();
  let latest: GPUDevice | undefined;
  const watch = (owner: object, method: string, then: (result: unknown) => void = () => {}) => {
    const real = Reflect.get(owner, method) as (...args: unknown[]) => unknown;
    const counted = (...args: unknown[]) => {
      calls.set(method, (calls.get(method) ?? 0) + 1);
      const result = real.apply(owner, args);
      then(result);
      return result;
    };
    Object.defineProperty(owner, method, { value: counted, configurable: true });
  };
  const watchBuffer = (created: unknown) => {
    const buffer = created as GPUBuffer;
    buffers.add(buffer);
    watch(buffer, 'destroy', () => buffers.delete(buffer));
  };
  const requestDevice = async (adapter: GPUAdapter, descriptor?: GPUDeviceDescriptor) => {
    const device = await adapter.requestDevice(descriptor);
    for (const method of WATCHED) watch(device, method, method === 'createBuffer' ? watchBuffer : undefined);
    for (const method of ['submit', 'writeBuffer']) watch(device.queue, method);
    latest = device;
    return device;
  };
  const gpu: GpuProvider = {
    ...(dawn.wgslLanguageFeatures && { wgslLanguageFeatures: dawn.wgslLanguageFeatures }),
    requestAdapter: async (options) => {
      const adapter = await dawn.requestAdapter(options);
      if (!adapter) return null;
      const { info, limits, features } = adapter;
      const request = (descriptor?: GPUDeviceDescriptor) => requestDevice(adapter, descriptor);
      return { info, limits, features, requestDevice: request } as GPUAdapter;
    },
  };
  return {
    gpu,
    calls,
    buffers,
    device: () => {
      if (!latest) throw new Error('no device was requested');
      return latest;
    },
  };
}
