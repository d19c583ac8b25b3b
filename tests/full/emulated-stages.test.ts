import { BESIDE_CPU, testEmulatedStages } from '../support/hip-cuda/emulated-goldens.ts';

await testEmulatedStages('gfx942', [
  { stages: [0, 1], names: BESIDE_CPU },
  { stages: [1, 1], names: ['llama'] },
  { stages: [2, 2], names: ['llama'] },
]);
