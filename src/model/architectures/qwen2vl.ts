import type { Architecture } from '../architecture.ts';
import { readDecoder } from '../stacks/decoder.ts';
import { OUTPUT, QKV_BIASES } from '../synthetic-family.ts';
import { qwen2 } from './qwen2.ts';

/** The text half of Qwen 2 VL, 2.5 VL and PaddleOCR: positions have several coordinates, which are equal in texts. */
export const qwen2vl: Architecture = {
  names: ['qwen2vl', 'paddleocr'],
  configure(read) {
    read.checkSections(readDecoder(read).rope.dimensions, 'consecutive');
    return qwen2.configure(read);
  },
  synthetic: {
    metadata: () => ({
      'rope.dimension_sections': { type: 'array', element: 'i32', values: [2, 1, 1, 0] },
    }),
    optional: [OUTPUT, ...QKV_BIASES],
  },
};
