import { testOtherCpuContracts } from '../support/cpu-contract.ts';

await testOtherCpuContracts();
