import { whatDiffers } from '../support/native/contract-parts.ts';
import { testEmulatedContract } from '../support/native/emulated-contract.ts';

// The whole contract is held by gfx1100 in every run, and by this target in `npm run test:full`.
await testEmulatedContract('gfx942', whatDiffers('gfx942', 'gfx1100'));
