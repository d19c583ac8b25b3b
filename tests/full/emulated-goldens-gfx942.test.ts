import { testEmulatedGoldens } from '../support/hip-cuda/emulated-goldens.ts';

await testEmulatedGoldens('gfx942');
