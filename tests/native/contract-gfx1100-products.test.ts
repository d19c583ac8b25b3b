import { inPart } from '../support/native/contract-parts.ts';
import { testEmulatedContract } from '../support/native/emulated-contract.ts';

await testEmulatedContract('gfx1100', inPart('products'));
