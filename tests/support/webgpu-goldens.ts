import { loadModel } from '../../src/index.ts';
import type { GoldenDevice, GoldenOptions } from './golden-tests.ts';
import { onOneDevice } from './rank-devices.ts';
import { openSoftwareGpu } from './software-gpu.ts';

const ROWS = 32;

// Models have many kernels in common, which SwiftShader takes longer to compile than to run: a device keeps them.
const open = onOneDevice(() => openSoftwareGpu());

function inRows(options: GoldenOptions): GoldenOptions {
  return { ...options, batch: Math.min(options.batch ?? ROWS, ROWS) };
}

/** The software GPU for golden tests: it quantizes activations, but not as ggml does. */
export const WEBGPU_GOLDENS: GoldenDevice = {
  name: 'WebGPU',
  exact: true,
  rows: ROWS,
  open: (path, options) => open(path, inRows(options)),
  openAlone: (path, options) => loadModel(path, { ...inRows(options), device: 'webgpu' }),
};
