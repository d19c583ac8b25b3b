import { loadModel } from '../../src/index.ts';
import { testFamilies } from '../support/family-tests.ts';

for (const device of ['cpu', 'reference']) {
  testFamilies({
    name: `the ${device} device`,
    open: (path, options) => loadModel(path, { ...options, device }),
  });
}
