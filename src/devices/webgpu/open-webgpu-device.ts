import type { GPURequestAdapterOptions } from '../../base/web-types.ts';
import { fail, isRocmforgeError } from '../../base/errors.ts';
import type { DeviceInfo } from '../../device/index.ts';
import { hasExactHalves } from './exact-halves.ts';
import { chooseTarget, type GpuFeature, type GpuProvider, type GpuTarget } from './gpu-target.ts';
import type { SharedGpu } from './memory/memory-rules.ts';
import { WebGpuDevice } from './webgpu-device.ts';

/** Which GPU to open, and what to use of it. */
export interface WebGpuDeviceOptions {
  /** The source of adapters, such as `navigator.gpu`. */
  readonly gpu: GpuProvider;
  /** Which adapter. Default: the high-performance one. */
  readonly adapter?: GPURequestAdapterOptions;
  /** Features not to be used even if the GPU has them. */
  readonly without?: readonly GpuFeature[];
  /** Maximum total bytes of buffers. WebGPU does not report the size of memory: the default is no limit. */
  readonly memoryBytes?: number;
  /** False refuses software adapters, which are slower than the CPU device's kernels. Default true. */
  readonly software?: boolean;
  /** Maximum bytes of a binding, below the GPU's own limit. */
  readonly bindingBytes?: number;
}

/** More than any GPU has. */
const NO_BOUND = 2 ** 44;

const sharedBy = new WeakMap<GpuProvider, SharedGpu>();

/** Opens a GPU. Rejects with `DEVICE_UNAVAILABLE` and the reason. */
export async function openWebGpuDevice(options: WebGpuDeviceOptions): Promise<WebGpuDevice> {
  const { gpu, without = [], memoryBytes = NO_BOUND, bindingBytes } = options;
  try {
    const adapter = await gpu.requestAdapter(options.adapter ?? { powerPreference: 'high-performance' });
    if (!adapter) fail('DEVICE_UNAVAILABLE', { device: 'webgpu', why: 'no adapter was found' });
    if (adapter.info.isFallbackAdapter && options.software === false) {
      fail('DEVICE_UNAVAILABLE', { device: 'webgpu', why: `${nameOf(adapter)} is software` });
    }
    const { wgslLanguageFeatures = new Set<string>() } = gpu;
    const chosen = chooseTarget(adapter, wgslLanguageFeatures, { without, bindingBytes });
    const { requiredFeatures, requiredLimits, target } = chosen;
    const device = await adapter.requestDevice({ requiredFeatures, requiredLimits });
    const shared = sharedBy.get(gpu) ?? { hasLoaded: false };
    sharedBy.set(gpu, shared);
    // What processors compute takes longer to compile than to convert.
    const nativeHalves = !adapter.info.isFallbackAdapter && (await hasExactHalves(device));
    const opened = new WebGpuDevice({
      device,
      target: { ...target, nativeHalves },
      info: infoOf(adapter, target),
      memoryBytes,
      shared,
    });
    await opened.prepare();
    return opened;
  } catch (error) {
    if (isRocmforgeError(error, 'DEVICE_UNAVAILABLE')) throw error;
    const why = error instanceof Error ? error.message : String(error);
    return fail('DEVICE_UNAVAILABLE', { device: 'webgpu', why }, error);
  }
}

function nameOf({ info }: GPUAdapter): string {
  const { vendor, architecture, description, device } = info;
  return description || device || [vendor, architecture].filter(Boolean).join(' ') || 'GPU';
}

function infoOf(adapter: GPUAdapter, target: GpuTarget): DeviceInfo {
  const { info, limits } = adapter;
  const { matrices } = target;
  return {
    backend: 'webgpu',
    name: nameOf(adapter),
    details: {
      vendor: info.vendor,
      architecture: info.architecture,
      software: info.isFallbackAdapter,
      subgroup: target.lanes,
      packedDot: target.packedDot,
      matrices: matrices ? `${matrices.rows}x${matrices.outputs}x${matrices.depth}` : 'none',
      threads: target.threads,
      bufferBytes: limits.maxBufferSize,
      bindingBytes: target.bindingBytes,
    },
  };
}
