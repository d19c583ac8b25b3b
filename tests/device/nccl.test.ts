import { testHardwareNccl } from '../support/hip-cuda/hardware-nccl.ts';

await testHardwareNccl('cuda');
await testHardwareNccl('hip');
