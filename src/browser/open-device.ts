import { fail } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import type { Device } from '../device/index.ts';
import { openWebGpuDevice } from '../devices/webgpu/index.ts';
import { type BrowserCpuOptions, openCpu } from './open-cpu.ts';

/** The backends that browsers support, in order of preference. */
const BACKENDS = ['webgpu', 'cpu'] as const;

/** One of the kinds of device that browsers support. */
export type BackendName = (typeof BACKENDS)[number];

/** How to request a device in a browser. */
export interface BrowserDeviceRequest extends BrowserCpuOptions {
  /** `auto`, the default, uses a GPU through WebGPU if there is one, otherwise the CPU. */
  readonly device?: 'auto' | BackendName | undefined;
}

/**
 * Opens the requested device. Rejects with `INVALID_ARGUMENT`, or with `DEVICE_UNAVAILABLE`, which for `auto` has the
 * reason for each backend.
 */
export async function openDevice(
  request: BrowserDeviceRequest = {},
  logger: Logger = silentLogger,
): Promise<Device> {
  const { device: wanted = 'auto' } = request;
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
