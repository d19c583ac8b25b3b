import { loadModel } from '../../src/index.ts';
import { testFloatGoldens } from '../support/golden-tests.ts';

testFloatGoldens(
  {
    name: 'the CPU device',
    open: (path, options) => loadModel(path, { ...options, device: 'cpu' }),
  },
  /8 192 tokens/,
);
