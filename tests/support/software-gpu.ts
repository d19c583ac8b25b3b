import { isRocmforgeError } from '../../src/base/errors.ts';
import type { WebGpuDevice } from '../../src/devices/webgpu/index.ts';
import { type NodeWebGpuOptions, openWebGpu } from '../../src/node/open-webgpu.ts';
import './paced-polls.ts';
import { watchWgsl } from './watched-wgsl.ts';

/** Set by `scripts/test.mjs` if it found the software driver. */
const FOUND = process.env['VK_DRIVER_FILES'] !== undefined;

/** Why tests on the software GPU cannot run, or false. With CI set, a missing driver fails the tests. */
export const NO_SOFTWARE_GPU: string | false =
  FOUND || process.env['CI'] !== undefined ? false : 'no software GPU: run the tests by scripts/test.mjs';

/** Opens the software GPU. Its disposal fails if it refused a command, even if that was reported before. */
export async function openSoftwareGpu(options: NodeWebGpuOptions = {}): Promise<WebGpuDevice> {
  await watchWgsl();
  const device = await openWebGpu(options);
  const dispose = device[Symbol.asyncDispose].bind(device);
  const disposeAndCheck = async () => {
    await dispose();
    if (isRocmforgeError(device.fault, 'GPU_REFUSED')) throw device.fault;
  };
  Object.defineProperty(device, Symbol.asyncDispose, { value: disposeAndCheck, configurable: true });
  return device;
}
