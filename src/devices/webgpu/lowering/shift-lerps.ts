import type { ShiftLerpsIntent } from '../../../device/index.ts';
import { reduceText } from '../kernels/library/reduce.ts';
import { shiftLerpsTexts } from '../kernels/shift-lerps.ts';
import { read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

const THREADS = 256;
/** Columns per workgroup. */
const COLUMNS = 32;

/**
 * Interpolations of rows with the previous ones (token shift), with the preceding norm computed by every workgroup;
 * their results are placed side by side.
 */
export function emitShiftLerps({ shift, lerps, norm }: ShiftLerpsIntent, to: Lowering): void {
  const { x, last, batch } = shift;
  const capacity = to.capacity(x);
  const weights = [...new Set(lerps.map(({ t }) => t))];
  const { memory, offsets } = to.join(lerps.map(({ out }) => out));
  const placed = lerps.map(({ t, row }, m) => ({
    resultAt: (offsets[m] as number) / 4,
    weights: `weights_${weights.indexOf(t)}`,
    weightsAt: row * x.width,
  }));
  to.launch({
    name: 'shift_lerps',
    texts: [
      ...shiftLerpsTexts(placed, { normed: norm !== undefined }),
      ...(norm ? [reduceText(to.target, { team: THREADS, threads: THREADS, name: 'all' })] : []),
    ],
    constants: {
      THREADS,
      WIDTH: x.width,
      ...(norm ? { CAPACITY: capacity, EPSILON: { f32: norm.epsilon } } : {}),
    },
    args: {
      counts: to.counts,
      slots: to.index(batch.slots),
      slot_rows: to.index(batch.slotRows),
      positions: to.index(batch.positions),
      x: read(norm?.x ?? x),
      ...(norm ? { norm_weight: to.vector(norm.weight, FLOAT_LAYOUT) } : {}),
      ...(norm?.bias ? { norm_bias: to.vector(norm.bias, FLOAT_LAYOUT) } : {}),
      ...Object.fromEntries(weights.map((t, i) => [`weights_${i}`, to.vector(t, FLOAT_LAYOUT)])),
      last: write(last),
      y: write(memory),
    },
    grid: [Math.ceil(x.width / COLUMNS)],
  });
}
