import type { DeviceInfo } from '../device/index.ts';
import { openWebGpu } from './open-webgpu.ts';

/** The GPU as shown by `rocmforge devices`, or why there is none. WebGPU does not report the size of its memory. */
export interface WebGpuReport {
  readonly device: 'webgpu';
  readonly backend: 'webgpu';
  readonly name?: string;
  readonly details?: DeviceInfo['details'];
  readonly error?: string;
}

/** The high-performance adapter, opened for its properties. Never rejects. */
export async function reportWebGpu(): Promise<WebGpuReport[]> {
  const kind = { device: 'webgpu', backend: 'webgpu' } as const;
  try {
    await using device = await openWebGpu();
    return [{ ...kind, name: device.info.name, details: device.info.details }];
  } catch (error) {
    return [{ ...kind, error: error instanceof Error ? error.message : String(error) }];
  }
}
