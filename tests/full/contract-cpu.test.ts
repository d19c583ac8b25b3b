import { nativeHere } from '../support/native-kernels.ts';
import { ABOUT_WEIGHTS, testCpuContract } from '../support/cpu-contract.ts';

const { offers } = await nativeHere();

const isOther = (test: string): boolean => !ABOUT_WEIGHTS(test);

testCpuContract('1 thread, baseline SIMD', { threads: 1, cpuKernels: 'wasm', relaxed: false }, isOther);
testCpuContract('3 threads, operands in two banks', { threads: 3, spread: 2 }, isOther);
testCpuContract('2 threads, WebAssembly', { threads: 2, cpuKernels: 'wasm' });
for (const { build } of offers.slice(1)) {
  testCpuContract(build.variant, { threads: 2, cpuKernels: 'native', variant: build.variant });
}
