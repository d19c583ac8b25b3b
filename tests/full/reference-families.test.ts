import { loadModel } from '../../src/index.ts';
import { FAMILY_FIXTURES, hasOthersOperators } from '../support/family-fixtures.ts';
import { testGoldensOf } from '../support/family-tests.ts';

testGoldensOf(FAMILY_FIXTURES.filter(hasOthersOperators), {
  name: 'the reference device',
  open: (path, options) => loadModel(path, { ...options, device: 'reference' }),
});
