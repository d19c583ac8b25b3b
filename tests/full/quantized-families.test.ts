import { onOneCpu } from '../support/one-cpu.ts';
import { testQuantizedFamilies } from '../support/quantized-families.ts';

testQuantizedFamilies({ name: 'the CPU device', open: onOneCpu() }, 0.05);
