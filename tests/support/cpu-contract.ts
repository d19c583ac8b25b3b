import { type NodeCpuOptions, openCpu } from '../../src/node/open-cpu.ts';
import { REFUSE_COPIES } from './contract/cases/experts.ts';
import { type ContractOptions, testDeviceContract } from './contract/index.ts';

const OPTIONS: ContractOptions = {
  unsupported: [
    { reason: 'heads come in multiples of four values', tests: [/attention: .*odd size/] },
    REFUSE_COPIES,
  ],
};

/** Declares the selected tests of the device contract for the CPU device opened with `options`. */
export function testCpuContract(name: string, options: NodeCpuOptions, only?: ContractOptions['only']): void {
  testDeviceContract(`cpu, ${name}`, () => openCpu(options), { ...OPTIONS, ...(only && { only }) });
}

/**
 * The tests that cover operands in two banks and the baseline SIMD build, which differs only in its products: where
 * weights are, what they are multiplied with, and layers, which use all kernels. The rest is in `test:full`.
 */
export const ABOUT_WEIGHTS = (test: string): boolean =>
  /^(?:memory|steps|packing|isolation|operator (?:matmul|matmulExperts|layer): )/.test(test);
