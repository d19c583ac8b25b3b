import { ABOUT_WEIGHTS, testCpuContract } from '../support/cpu-contract.ts';

const isOther = (test: string): boolean => !ABOUT_WEIGHTS(test);

testCpuContract('1 thread, baseline SIMD', { threads: 1, relaxed: false }, isOther);
testCpuContract('3 threads, operands in two banks', { threads: 3, spread: 2 }, isOther);
