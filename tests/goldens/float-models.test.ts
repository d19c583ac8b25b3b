import { loadModel } from '../../src/index.ts';
import { testAllLogits, testFloatGoldens } from '../support/golden-tests.ts';

// The other has 8 192 tokens: `npm run test:full` computes them, the variants of families have scaled and far rotations.
testFloatGoldens(
  {
    name: 'the CPU device',
    open: (path, options) => loadModel(path, { ...options, device: 'cpu' }),
  },
  /stories260K/,
);

for (const device of ['cpu', 'reference']) {
  testAllLogits({
    name: `the ${device} device`,
    open: (path, options) => loadModel(path, { ...options, device }),
  });
}
