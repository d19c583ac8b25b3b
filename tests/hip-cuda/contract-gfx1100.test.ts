import { everyKernelOnce } from '../support/hip-cuda/contract-cases.ts';
import { testEmulatedContract } from '../support/hip-cuda/emulated-contract.ts';

await testEmulatedContract('gfx1100', everyKernelOnce('gfx1100'));
