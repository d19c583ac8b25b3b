import { nativeHere } from '../support/native-kernels.ts';
import { testCpuContract } from '../support/cpu-contract.ts';

const { offers } = await nativeHere();

testCpuContract('1 thread, baseline SIMD', { threads: 1, cpuKernels: 'wasm', relaxed: false });
testCpuContract('3 threads, operands in two banks', { threads: 3, spread: 2 });
testCpuContract('2 threads, WebAssembly', { threads: 2, cpuKernels: 'wasm' });
for (const { build } of offers.slice(1)) {
  testCpuContract(build.variant, { threads: 2, cpuKernels: 'native', variant: build.variant });
}
