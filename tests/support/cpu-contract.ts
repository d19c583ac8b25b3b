import { type NodeCpuOptions, openCpu } from '../../src/node/open-cpu.ts';
import { type ContractOptions, testDeviceContract } from './contract/index.ts';

const OPTIONS: ContractOptions = {
  unsupported: [{ reason: 'heads come in multiples of four values', tests: [/attention: .*odd size/] }],
};

/** Declares the device contract's tests, those that are wanted, for the CPU device opened with `options`. */
export function testCpuContract(name: string, options: NodeCpuOptions, only?: ContractOptions['only']): void {
  testDeviceContract(`cpu, ${name}`, () => openCpu(options), { ...OPTIONS, ...(only && { only }) });
}

/**
 * What operands in two banks are about, and the build for baseline SIMD, which differs from the other by its products alone: where
 * weights lie, what they are multiplied with, and layers, which have all kernels. The rest is in `test:full`.
 */
export const ABOUT_WEIGHTS = (test: string): boolean =>
  /^(?:memory|steps|packing|isolation|operator (?:matmul|matmulExperts|layer): )/.test(test);
