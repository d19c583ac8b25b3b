import { after } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { WebGpuDevice } from '../../src/devices/webgpu/index.ts';
import { type NodeWebGpuOptions, openWebGpu } from '../../src/node/open-webgpu.ts';

/** Set by `scripts/test.mjs` where it found the software driver. */
const FOUND = process.env['VK_DRIVER_FILES'] !== undefined;

/** Why tests on the software GPU cannot run here, or false. With CI set, a missing driver is a failure of the tests. */
export const NO_SOFTWARE_GPU: string | false =
  FOUND || process.env['CI'] !== undefined ? false : 'no software GPU: run the tests by scripts/test.mjs';

const opened: WebGpuDevice[] = [];

/** Opens the software GPU. A command that it refuses fails the test file, whoever was told of it. */
export async function openSoftwareGpu(options: NodeWebGpuOptions = {}): Promise<WebGpuDevice> {
  const device = await openWebGpu(options);
  opened.push(device);
  return device;
}

after(() => {
  for (const { fault } of opened) if (isRocmforgeError(fault, 'GPU_REFUSED')) throw fault;
});
