import { ABOUT_WEIGHTS, testCpuContract } from '../support/cpu-contract.ts';

testCpuContract('2 threads', { threads: 2 });
testCpuContract('1 thread, baseline SIMD', { threads: 1, cpuKernels: 'wasm', relaxed: false }, ABOUT_WEIGHTS);
testCpuContract('3 threads, operands in two banks', { threads: 3, spread: 2 }, ABOUT_WEIGHTS);
