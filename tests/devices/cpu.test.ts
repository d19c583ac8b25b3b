import { openCpu } from '../../src/node/open-cpu.ts';
import { testDeviceContract } from '../support/contract/index.ts';

testDeviceContract('cpu, 1 thread', () => openCpu({ threads: 1 }));
testDeviceContract('cpu, 2 threads', () => openCpu({ threads: 2 }));
testDeviceContract('cpu, baseline SIMD', () => openCpu({ threads: 2, relaxed: false }));
testDeviceContract('cpu, operands in two banks', () => openCpu({ threads: 2, spread: 2 }));
