import { testHardware } from '../support/native/hardware.ts';

await testHardware('cuda');
