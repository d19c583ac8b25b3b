import { testFault } from '../support/hip-cuda/hardware.ts';

await testFault('cuda');
