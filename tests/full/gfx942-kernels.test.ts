import { whatDiffers } from '../support/hip-cuda/contract-parts.ts';
import { testEmulatedContract } from '../support/hip-cuda/emulated-contract.ts';

// The whole contract is held by gfx1100 in every run, and by this target in `npm run test:full`.
await testEmulatedContract('gfx942', whatDiffers('gfx942', 'gfx1100'));
