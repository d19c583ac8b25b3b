import { testOtherEmulatedFamilies } from '../support/hip-cuda/emulated-goldens.ts';

await testOtherEmulatedFamilies('gfx942');
