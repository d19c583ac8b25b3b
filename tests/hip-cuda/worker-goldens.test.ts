import { testEmulatedProcessRanks } from '../support/hip-cuda/emulated-workers.ts';

/** A family whose vocabulary, heads and hidden layers are split: the others, and more cards, are in `full/`. */
await testEmulatedProcessRanks('gfx1100', 2, ['llama']);
