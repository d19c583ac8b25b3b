import { type NodeCpuOptions, openCpu } from '../../src/node/open-cpu.ts';
import { REFUSE_COPIES } from './contract/cases/experts.ts';
import { type ContractOptions, testDeviceContract } from './contract/index.ts';
import { nativeHere } from './native-kernels.ts';

const OPTIONS: ContractOptions = {
  unsupported: [
    { reason: 'heads come in multiples of four values', tests: [/attention: .*odd size/] },
    REFUSE_COPIES,
  ],
};

/** Declares the device contract for the CPU device opened with `options`. */
export function testCpuContract(
  name: string,
  options: NodeCpuOptions,
  only?: (test: string) => boolean,
): void {
  testDeviceContract(`cpu, ${name}`, () => openCpu(options), only ? { ...OPTIONS, only } : OPTIONS);
}

/** Declares the contract, or the selected tests of it, for the other builds of the kernels, and for operands in two banks. */
export async function testOtherCpuContracts(only?: (test: string) => boolean): Promise<void> {
  const { offers } = await nativeHere();
  testCpuContract('1 thread, baseline SIMD', { threads: 1, cpuKernels: 'wasm', relaxed: false }, only);
  testCpuContract('3 threads, operands in two banks', { threads: 3, spread: 2 }, only);
  testCpuContract('2 threads, WebAssembly', { threads: 2, cpuKernels: 'wasm' }, only);
  for (const { build } of offers.slice(1)) {
    const options = { threads: 2, cpuKernels: 'native', variant: build.variant } as const;
    testCpuContract(build.variant, options, only);
  }
}
