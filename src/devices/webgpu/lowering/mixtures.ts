import type { MixturesIntent } from '../../../device/index.ts';
import { reduceText } from '../kernels/library/reduce.ts';
import { mixturesTexts } from '../kernels/mixtures.ts';
import { read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

const THREADS = 256;
/** Columns that a workgroup takes. */
const COLUMNS = 32;

/** Mixtures of rows with the ones before them, the norm before them computed by every workgroup; their results lie side by side. */
export function emitMixtures({ shift, mixtures, norm }: MixturesIntent, to: Lowering): void {
  const { x, last, batch } = shift;
  const capacity = to.capacity(x);
  const factors = [...new Set(mixtures.map(({ t }) => t))];
  const { memory, offsets } = to.join(mixtures.map(({ out }) => out));
  const placed = mixtures.map(({ t, row }, m) => ({
    resultAt: (offsets[m] as number) / 4,
    factors: `factors_${factors.indexOf(t)}`,
    factorsAt: row * x.width,
  }));
  to.launch({
    name: 'mixtures',
    texts: [
      ...mixturesTexts(placed, { normed: norm !== undefined }),
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
      positions: to.index(batch.positions),
      x: read(norm?.x ?? x),
      ...(norm ? { factors: to.vector(norm.weight, FLOAT_LAYOUT) } : {}),
      ...(norm?.bias ? { terms: to.vector(norm.bias, FLOAT_LAYOUT) } : {}),
      ...Object.fromEntries(factors.map((t, i) => [`factors_${i}`, to.vector(t, FLOAT_LAYOUT)])),
      last: write(last),
      y: write(memory),
    },
    grid: [Math.ceil(x.width / COLUMNS)],
  });
}
