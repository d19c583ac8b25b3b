import { testHardware } from '../support/hip-cuda/hardware.ts';

await testHardware('hip');
