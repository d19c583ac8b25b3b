import type { Architecture } from '../architecture.ts';
import { count, expertMetadata, OUTPUT, wideHeads } from '../synthetic-family.ts';
import { qwen3moe } from './qwen3moe.ts';

/** The text half of Qwen 3 VL with experts. */
export const qwen3vlmoe: Architecture = {
  names: ['qwen3vlmoe'],
  configure(read) {
    read.countOrZero('n_deepstack_layers');
    return qwen3moe.configure(read);
  },
  synthetic: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      ...wideHeads(shape),
      n_deepstack_layers: count(1),
      'rope.dimension_sections': { type: 'array', element: 'i32', values: [3, 3, 2, 0] },
    }),
    optional: [OUTPUT],
  },
};
