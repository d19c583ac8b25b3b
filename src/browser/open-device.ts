import { fail } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import type { Device } from '../device/index.ts';
import { DevicePipeline } from '../devices/group/index.ts';
import { openWebGpuDevice } from '../devices/webgpu/index.ts';
import type { GpuLayers } from '../plan/parts/plan-options.ts';
import { type BrowserCpuOptions, openCpu } from './open-cpu.ts';

/** The backends that browsers support, in order of preference. */
const BACKENDS = ['webgpu', 'cpu'] as const;

/** One of the kinds of device that browsers support. */
export type BackendName = (typeof BACKENDS)[number];

/** How to request a device in a browser. */
export interface BrowserDeviceRequest extends BrowserCpuOptions {
  /** `auto`, the default, uses a GPU through WebGPU if there is one, otherwise the CPU. */
  readonly device?: 'auto' | BackendName | undefined;
  /** As `PlanOptions`: with a number of layers or `auto`, the CPU is opened beside the GPU. Default: the device has the whole model. */
  readonly gpuLayers?: GpuLayers | undefined;
}

/**
 * Opens the requested device. Rejects with `INVALID_ARGUMENT`, or with `DEVICE_UNAVAILABLE`, which for `auto` has the
 * reason for each backend.
 */
export async function openDevice(
  request: BrowserDeviceRequest = {},
  logger: Logger = silentLogger,
): Promise<Device> {
  const { device: wanted = 'auto', gpuLayers } = request;
  if (gpuLayers === 0 || (gpuLayers === 'auto' && wanted === 'cpu')) return openCpu(request);
  if (gpuLayers !== undefined && gpuLayers !== 'all') return openBesideCpu(request, gpuLayers, logger);
  switch (wanted) {
    case 'webgpu':
      return openWebGpu(true);
    case 'cpu':
      return openCpu(request);
    case 'auto':
      return openBest(request, logger);
    default:
      return fail('INVALID_ARGUMENT', {
        name: 'device',
        found: String(wanted),
        expected: ['auto', ...BACKENDS].join(', '),
      });
  }
}

/** The CPU and a GPU as the stages of a model; with `auto`, the CPU alone if there is no GPU. */
async function openBesideCpu(
  request: BrowserDeviceRequest,
  gpuLayers: number | 'auto',
  logger: Logger,
): Promise<Device> {
  const { device: wanted = 'auto' } = request;
  if (wanted === 'cpu') {
    const expected = '0 layers on a GPU with the device cpu';
    fail('INVALID_ARGUMENT', { name: 'gpuLayers', found: String(gpuLayers), expected });
  }
  const isOptional = gpuLayers === 'auto' && wanted === 'auto';
  const gpu = await openWebGpu(wanted === 'webgpu').catch((error: unknown) => {
    if (!isOptional) throw error;
    logger.debug('no GPU beside the CPU', { reason: String(error) });
    return undefined;
  });
  if (!gpu) return openCpu(request);
  try {
    return new DevicePipeline([await openCpu(request), gpu]);
  } catch (error) {
    await gpu[Symbol.asyncDispose]();
    throw error;
  }
}

async function openBest(request: BrowserDeviceRequest, logger: Logger): Promise<Device> {
  const reasons: string[] = [];
  for (const open of [() => openWebGpu(false), () => openCpu(request)]) {
    try {
      return await open();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      logger.debug('device not available', { reason });
      reasons.push(reason);
    }
  }
  return fail('DEVICE_UNAVAILABLE', { device: 'auto', why: reasons.join('; ') });
}

/** A software adapter is slower than the CPU device, so it is used only if requested. */
async function openWebGpu(software: boolean): Promise<Device> {
  const gpu = (navigator as Partial<Pick<Navigator, 'gpu'>>).gpu;
  if (!gpu) {
    const why = globalThis.isSecureContext
      ? 'the browser has no WebGPU, or it is switched off'
      : 'browsers give WebGPU to pages from https or localhost only';
    fail('DEVICE_UNAVAILABLE', { device: 'webgpu', why });
  }
  return openWebGpuDevice({ gpu, software });
}
