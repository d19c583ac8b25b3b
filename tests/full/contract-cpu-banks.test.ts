import { ABOUT_BANKS, testCpuContract } from '../support/cpu-contract.ts';

testCpuContract('3 threads, operands in two banks', { threads: 3, spread: 2 }, (test) => !ABOUT_BANKS(test));
