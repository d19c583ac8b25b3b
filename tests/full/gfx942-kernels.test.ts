import { whatDiffers } from '../support/hip-cuda/contract-cases.ts';
import { testEmulatedContract } from '../support/hip-cuda/emulated-contract.ts';

// The whole contract is held by gfx1100, and by this target in full/contract-gfx942.
await testEmulatedContract('gfx942', whatDiffers('gfx942', 'gfx1100'));
