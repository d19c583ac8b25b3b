import { testEmulatedGoldens } from '../support/native/emulated-goldens.ts';

// Loading the bundled model in another format as well, which `npm run test:full` does, would take half a minute.
await testEmulatedGoldens('gfx1100', {
  floatPositions: 256,
  quantizedPositions: 8,
  quantizedModels: /Q4_K_M|Q4_0/,
});
