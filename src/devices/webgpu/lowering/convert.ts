import type { ConvertIntent } from '../../../device/index.ts';
import { QUAD_TO_HALF } from '../kernels/library/quad-halves.ts';
import { QUANTIZE_GROUP } from '../kernels/library/quantize.ts';
import { CONVERT_F16_ROWS, QUANTIZE_ROWS, QUANTIZED_INPUT } from '../kernels/quantize.ts';
import { write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { rawInput } from './product-input.ts';
import { quantizedScalesAt } from './staging.ts';

const THREADS = 256;

/** Converts activations to the form that products read. */
export function emitConvert({ x, norm, form, y }: ConvertIntent, to: Lowering): void {
  const capacity = to.capacity(x);
  const raw = rawInput({ x, norm }, to);
  const halves = form === 'f16';
  const name = halves ? 'halve' : 'quantize';
  to.launch({
    name: norm ? `norm_${name}` : name,
    texts: [
      ...(halves ? [CONVERT_F16_ROWS, QUAD_TO_HALF] : [QUANTIZE_ROWS, QUANTIZE_GROUP, QUANTIZED_INPUT]),
      ...raw.texts,
    ],
    constants: {
      THREADS,
      COUNT: to.countOf(x),
      GROUPS: x.width / 32,
      ...raw.constants,
      Y_SCALES_AT: quantizedScalesAt(capacity, x.width),
    },
    args: {
      counts: to.counts,
      ...raw.args,
      y: write(y, halves ? 'array<vec2<u32>>' : 'array<u32>'),
    },
    grid: [capacity],
  });
}
