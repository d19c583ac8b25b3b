import type { ConvertIntent } from '../../../device/index.ts';
import { QUAD_TO_HALF } from '../kernels/library/quad-halves.ts';
import { loopFor } from '../kernels/library/loop.ts';
import { convertF16RowsText, ownHalves, QUANTIZE_ROWS } from '../kernels/quantize.ts';
import { write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { quantizedRows, rawInput } from './product-input.ts';
import { quantizedScalesAt } from './staging.ts';

const THREADS = 256;

/** Converts activations to the form that products read. */
export function emitConvert({ x, norm, form, y }: ConvertIntent, to: Lowering): void {
  const capacity = to.capacity(x);
  const halves = form === 'f16';
  const input = (halves ? rawInput : quantizedRows)({ x, norm }, x.width, to);
  const name = halves ? 'halve' : 'quantize';
  to.launch({
    name: norm ? `norm_${name}` : name,
    texts: [
      ...(halves
        ? [convertF16RowsText(ownHalves(x.width, THREADS), loopFor(to.target)), QUAD_TO_HALF]
        : [QUANTIZE_ROWS]),
      ...input.texts,
    ],
    constants: {
      THREADS,
      COUNT: to.countOf(x),
      GROUPS: x.width / 32,
      ...input.constants,
      Y_SCALES_AT: quantizedScalesAt(capacity, x.width),
    },
    args: {
      counts: to.counts,
      ...input.args,
      y: write(y, halves ? 'array<vec2<u32>>' : 'array<u32>'),
    },
    grid: [capacity],
  });
}
