import { testHardwareRanks } from '../support/hip-cuda/hardware-ranks.ts';

await testHardwareRanks('cuda');
await testHardwareRanks('hip');
