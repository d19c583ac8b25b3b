import { loadModel } from '../../src/index.ts';
import { type GoldenDevice, testQuantizedCache, testQuantizedGoldens } from '../support/golden-tests.ts';

const CPU: GoldenDevice = {
  name: 'the CPU device',
  open: (path, options) => loadModel(path, { ...options, device: 'cpu' }),
};

testQuantizedGoldens(CPU);
testQuantizedCache(CPU);
