import { isRocmforgeError } from '../../src/base/errors.ts';
import type { WebGpuDevice } from '../../src/devices/webgpu/index.ts';
import { type NodeWebGpuOptions, openWebGpu } from '../../src/node/open-webgpu.ts';
import './paced-polls.ts';

/** Set by `scripts/test.mjs` where it found the software driver. */
const FOUND = process.env['VK_DRIVER_FILES'] !== undefined;

/** Why tests on the software GPU cannot run here, or false. With CI set, a missing driver is a failure of the tests. */
export const NO_SOFTWARE_GPU: string | false =
  FOUND || process.env['CI'] !== undefined ? false : 'no software GPU: run the tests by scripts/test.mjs';

/** Opens the software GPU. A command that it refused fails its disposal, whoever was told of it before. */
export async function openSoftwareGpu(options: NodeWebGpuOptions = {}): Promise<WebGpuDevice> {
  const device = await openWebGpu(options);
  const dispose = device[Symbol.asyncDispose].bind(device);
  const disposeAndCheck = async () => {
    await dispose();
    if (isRocmforgeError(device.fault, 'GPU_REFUSED')) throw device.fault;
  };
  Object.defineProperty(device, Symbol.asyncDispose, { value: disposeAndCheck, configurable: true });
  return device;
}
