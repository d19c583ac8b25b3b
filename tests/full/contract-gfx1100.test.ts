import { testEmulatedContract } from '../support/hip-cuda/emulated-contract.ts';

await testEmulatedContract('gfx1100');
