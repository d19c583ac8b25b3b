import { loadModel } from '../../src/index.ts';
import { testQuantizedGoldens } from '../support/golden-tests.ts';

testQuantizedGoldens({
  name: 'the CPU device',
  open: (path, options) => loadModel(path, { ...options, device: 'cpu' }),
});
