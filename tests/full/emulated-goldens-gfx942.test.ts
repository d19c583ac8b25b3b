import { testEmulatedGoldens } from '../support/native/emulated-goldens.ts';

await testEmulatedGoldens('gfx942');
