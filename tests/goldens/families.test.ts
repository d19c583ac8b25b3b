import { loadModel } from '../../src/index.ts';
import { FAMILY_FIXTURES, hasOthersOperators } from '../support/family-fixtures.ts';
import { testFamilies, testGoldensOf, testModelsOn } from '../support/family-tests.ts';
import type { GoldenDevice } from '../support/golden-tests.ts';
import { onOneCpu } from '../support/one-cpu.ts';

const REFERENCE: GoldenDevice = {
  name: 'the reference device',
  open: (path, options) => loadModel(path, { ...options, device: 'reference' }),
};

testFamilies({ name: 'the cpu device', open: onOneCpu() });
// Operators of the others it has by these, and by the contract.
const ownOperators = FAMILY_FIXTURES.filter((family) => !hasOthersOperators(family));
testGoldensOf(ownOperators, REFERENCE);
testModelsOn(REFERENCE);
