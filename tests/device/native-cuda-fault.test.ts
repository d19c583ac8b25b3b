import { testFault } from '../support/native/hardware.ts';

await testFault('cuda');
