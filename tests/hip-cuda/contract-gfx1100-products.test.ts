import { inPart } from '../support/hip-cuda/contract-parts.ts';
import { testEmulatedContract } from '../support/hip-cuda/emulated-contract.ts';

await testEmulatedContract('gfx1100', inPart('products'));
