import { testEmulatedFamilies } from '../support/hip-cuda/emulated-goldens.ts';

await testEmulatedFamilies('gfx942');
