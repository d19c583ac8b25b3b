import { loadModel } from '../../src/index.ts';
import { FAMILY_FIXTURES, hasOthersOperators } from '../support/family-fixtures.ts';
import { testFamilies, testGoldensOf, testModelsOn } from '../support/family-tests.ts';
import type { GoldenDevice } from '../support/golden-tests.ts';

const on = (device: 'cpu' | 'reference'): GoldenDevice => ({
  name: `the ${device} device`,
  open: (path, options) => loadModel(path, { ...options, device }),
});

testFamilies(on('cpu'));
// Operators of the others it has by these, and by the contract.
const ownOperators = FAMILY_FIXTURES.filter((family) => !hasOthersOperators(family));
testGoldensOf(ownOperators, on('reference'));
testModelsOn(on('reference'));
