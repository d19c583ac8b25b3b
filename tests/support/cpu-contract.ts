import { type NodeCpuOptions, openCpu } from '../../src/node/open-cpu.ts';
import { REFUSE_COPIES } from './contract/cases/experts.ts';
import { type ContractOptions, testDeviceContract } from './contract/index.ts';

const OPTIONS: ContractOptions = {
  unsupported: [
    { reason: 'heads come in multiples of four values', tests: [/attention: .*odd size/] },
    REFUSE_COPIES,
  ],
};

/** Declares the device contract for the CPU device opened with `options`. */
export function testCpuContract(name: string, options: NodeCpuOptions): void {
  testDeviceContract(`cpu, ${name}`, () => openCpu(options), OPTIONS);
}
