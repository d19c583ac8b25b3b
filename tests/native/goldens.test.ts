import { testEmulatedGoldens } from '../support/native/emulated-goldens.ts';

await testEmulatedGoldens('gfx1100', { floatPositions: 256, quantizedPositions: 8 });
