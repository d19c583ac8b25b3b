import { loadModel } from '../../src/index.ts';
import type { GoldenDevice } from './golden-tests.ts';

/** The software GPU as goldens are held against it: it quantizes activations, but not as ggml does. */
export const WEBGPU_GOLDENS: GoldenDevice = {
  name: 'WebGPU',
  exact: true,
  open: (path, options) => loadModel(path, { ...options, batch: 32, device: 'webgpu' }),
};
