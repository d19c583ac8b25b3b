import { testEmulatedRanks } from '../support/hip-cuda/emulated-goldens.ts';

/** A family whose vocabulary, heads and hidden layers are split: the others, and more cards, are in `full/`. */
await testEmulatedRanks('gfx942', 2, ['llama'], 'nccl');
