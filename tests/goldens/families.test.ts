import { loadModel } from '../../src/index.ts';
import { CELLS, FAMILY_FIXTURES, hasOthersOperators } from '../support/family-fixtures.ts';
import { testFamilies, testGoldensOf, testLongText, testModelsOn } from '../support/family-tests.ts';
import type { GoldenDevice } from '../support/golden-tests.ts';
import { testControlVectors } from '../support/control-vector-tests.ts';
import { testAdapterChanges } from '../support/lora-tests.ts';
import { onOneCpu } from '../support/one-cpu.ts';

const REFERENCE: GoldenDevice = {
  name: 'the reference device',
  open: (path, options) => loadModel(path, { ...options, device: 'reference' }),
};

const CPU: GoldenDevice = {
  name: 'the cpu device',
  open: onOneCpu(),
  openAlone: (path, options) => loadModel(path, { ...options, device: 'cpu' }),
};
testFamilies(CPU);
// Operators of the others it has by these, and by the contract.
const ownOperators = FAMILY_FIXTURES.filter((family) => !hasOthersOperators(family));
testGoldensOf(ownOperators, REFERENCE);
testModelsOn(REFERENCE);
for (const device of [CPU, REFERENCE]) testLongText(device, 'a cell of 128 positions', CELLS);
testControlVectors(CPU, ['llama', 'gemma3n', 'deepseek4']);
// The loader is the same on all devices.
for (const device of [CPU, REFERENCE]) testAdapterChanges(device);
