import { loadModel } from '../../src/index.ts';
import { testAllLogits, testFloatGoldens } from '../support/golden-tests.ts';

testFloatGoldens({
  name: 'the CPU device',
  open: (path, options) => loadModel(path, { ...options, device: 'cpu' }),
});

for (const device of ['cpu', 'reference']) {
  testAllLogits({
    name: `the ${device} device`,
    open: (path, options) => loadModel(path, { ...options, device }),
  });
}
