import { loadModel } from '../../src/index.ts';
import type { GoldenDevice } from './golden-tests.ts';

const ROWS = 32;

/** The software GPU for golden tests: it quantizes activations, but not as ggml does. */
export const WEBGPU_GOLDENS: GoldenDevice = {
  name: 'WebGPU',
  exact: true,
  rows: ROWS,
  open: (path, options) =>
    loadModel(path, { ...options, batch: Math.min(options.batch ?? ROWS, ROWS), device: 'webgpu' }),
};
