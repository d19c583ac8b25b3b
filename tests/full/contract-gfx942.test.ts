import { testEmulatedContract } from '../support/native/emulated-contract.ts';

await testEmulatedContract('gfx942');
