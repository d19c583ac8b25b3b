import type { Architecture } from '../architecture.ts';
import { count, wideHeads } from '../synthetic-family.ts';
import { qwen3 } from './qwen3.ts';

/**
 * The text half of Qwen 3 VL: positions have several coordinates, which are equal in texts; without images, early
 * layers have no image features to add. Pairs behind the sections have the first coordinate, as the model's authors define it;
 * llama.cpp leaves them unrotated.
 */
export const qwen3vl: Architecture = {
  names: ['qwen3vl'],
  configure(read) {
    read.countOrZero('n_deepstack_layers');
    return qwen3.configure(read);
  },
  synthetic: {
    metadata: (shape) => ({
      ...wideHeads(shape),
      n_deepstack_layers: count(1),
      'rope.dimension_sections': { type: 'array', element: 'i32', values: [3, 3, 2, 0] },
    }),
  },
};
