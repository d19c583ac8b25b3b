import { loadModel } from '../../src/index.ts';
import { CHUNKS } from '../support/family-fixtures.ts';
import { testLongText } from '../support/family-tests.ts';
import { testFloatGoldens } from '../support/golden-tests.ts';
import { onOneCpu } from '../support/one-cpu.ts';

testFloatGoldens(
  {
    name: 'the CPU device',
    open: (path, options) => loadModel(path, { ...options, device: 'cpu' }),
  },
  /8 192 tokens/,
);

testLongText({ name: 'the CPU device', open: onOneCpu() }, 'Llama 4 beyond its first chunk', CHUNKS);
