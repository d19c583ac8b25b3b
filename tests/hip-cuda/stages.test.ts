import { testEmulatedStages } from '../support/hip-cuda/emulated-goldens.ts';

/** Dense, a mixture, latent attention, two recurrent hybrids, RWKV, and one whose layers read the caches of earlier ones. */
const BESIDE = ['llama', 'qwen3moe', 'deepseek2', 'granitehybrid', 'qwen35', 'rwkv7', 'gemma3n'];

await testEmulatedStages('gfx942', [
  { stages: [0, 1], names: BESIDE },
  { stages: [1, 1], names: ['llama', 'qwen35'] },
  { stages: [2, 2], names: ['llama', 'granitehybrid'] },
  { stages: [0, 2], names: ['llama'] },
]);
