import { testEmulatedStages } from '../support/hip-cuda/emulated-goldens.ts';

// Beside the CPU dense and with experts, split into stages of one and two cards, and recurrent states on both stages. `full/emulated-stages`
// has other architectures beside the CPU; on stages of the CPU, `goldens/stages` has all.
await testEmulatedStages('gfx942', [
  { stages: [0, 1], names: ['llama', 'qwen3moe'] },
  { stages: [1, 1], names: ['qwen35'] },
  { stages: [2, 2], names: ['granitehybrid'] },
  { stages: [0, 2], names: ['llama'] },
]);
