import { testEmulatedFamilies } from '../support/native/emulated-goldens.ts';

await testEmulatedFamilies('gfx942');
