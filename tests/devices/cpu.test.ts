import { openCpu } from '../../src/node/open-cpu.ts';
import { type ContractOptions, testDeviceContract } from '../support/contract/index.ts';

const OPTIONS: ContractOptions = {
  unsupported: [{ reason: 'heads come in multiples of four values', tests: [/attention: .*odd size/] }],
};

testDeviceContract('cpu, 2 threads', () => openCpu({ threads: 2 }), OPTIONS);
testDeviceContract('cpu, 1 thread, baseline SIMD', () => openCpu({ threads: 1, relaxed: false }), OPTIONS);
testDeviceContract(
  'cpu, 3 threads, operands in two banks',
  () => openCpu({ threads: 3, spread: 2 }),
  OPTIONS,
);
