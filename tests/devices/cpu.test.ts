import { testCpuContract } from '../support/cpu-contract.ts';

// Other builds of the kernels, and operands in two banks, are in `test:full`.
testCpuContract('2 threads', { threads: 2 });
