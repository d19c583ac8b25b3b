import { fail } from '../base/errors.ts';
import { type GpuProvider, openWebGpuDevice, type WebGpuDeviceOptions } from '../devices/webgpu/index.ts';
import type { WebGpuDevice } from '../devices/webgpu/index.ts';
import { loadKoffiFfi } from './koffi-ffi.ts';
import { natively, whileLoading } from './native-loading.ts';

/** Options of the WebGPU device in Node. */
export type NodeWebGpuOptions = Omit<WebGpuDeviceOptions, 'gpu' | 'adapter'> & {
  /** 0 is the high-performance adapter, 1 the low-power one, 2 the software one, if Dawn has them. */
  readonly index?: number;
};

/** The `webgpu` package: creates Dawn's GPU with Dawn's own toggles. */
interface Dawn {
  create(switches: readonly string[]): GpuProvider;
}

/** Adapter options, by index. */
const ADAPTERS: readonly GPURequestAdapterOptions[] = [
  { powerPreference: 'high-performance' },
  { powerPreference: 'low-power' },
  { forceFallbackAdapter: true },
];

/**
 * Dawn's toggles. Kernels write workgroup memory before they read it: zeroing it first takes time, and very long to
 * compile on software adapters. They stay within their buffers, as those of the other GPU devices do: additional bounds
 * checks cost products of many rows more than half of their speed. Subgroup matrices are not standardized yet and count
 * as unsafe. f16 is disabled by default on older NVIDIA drivers because of faults in features that our kernels do not
 * use. Timestamps would be rounded to 100 µs, as for web pages.
 */
const SWITCHES = [
  'enable-dawn-features=disable_workgroup_init,disable_robustness,allow_unsafe_apis,vulkan_enable_f16_on_nvidia',
  'disable-dawn-features=timestamp_quantization',
];

let dawn: Promise<GpuProvider> | undefined;

/** Opens a GPU through Dawn, or the runtime's own WebGPU. Rejects with `DEVICE_UNAVAILABLE`. */
export async function openWebGpu({ index = 0, ...options }: NodeWebGpuOptions = {}): Promise<WebGpuDevice> {
  const adapter = ADAPTERS[index];
  if (!adapter) {
    const why = `adapters are numbered from 0 to ${ADAPTERS.length - 1}`;
    fail('DEVICE_UNAVAILABLE', { device: `webgpu:${index}`, why });
  }
  return openWebGpuDevice({ ...options, gpu: await openDawn(), adapter });
}

/** The process's WebGPU. Rejects with `DEVICE_UNAVAILABLE`. */
export function openDawn(): Promise<GpuProvider> {
  dawn ??= loadDawn();
  return dawn;
}

/** One per process: drivers are started once. Deno and Bun have their own GPU object, if they have one. */
async function loadDawn(): Promise<GpuProvider> {
  const own = (globalThis.navigator as Navigator | undefined)?.gpu;
  if (own) return own;
  if (process.platform === 'linux') await requireVulkan();
  const name = 'webgpu';
  try {
    const { create } = (await whileLoading(() => import(name))) as Dawn;
    return natively(() => create(SWITCHES));
  } catch (cause) {
    const why = 'the optional package webgpu is not installed or has no build for this platform';
    return fail('DEVICE_UNAVAILABLE', { device: 'webgpu', why }, cause);
  }
}

/** Dawn would print its own warning on a system without Vulkan. */
async function requireVulkan(): Promise<void> {
  try {
    (await loadKoffiFfi()).open(['libvulkan.so.1']);
  } catch (cause) {
    fail('DEVICE_UNAVAILABLE', { device: 'webgpu', why: 'Vulkan (libvulkan.so.1) is not installed' }, cause);
  }
}
