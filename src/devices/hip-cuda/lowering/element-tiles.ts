import type { ElementTileFacts } from '../../../device/index.ts';
import { invariant } from '../../../base/errors.ts';
import type { Weight } from '../../../ops/index.ts';
import type { HipCudaTarget } from '../launching/kernel-set.ts';
import { matrixCores } from './matrix-cores.ts';

const TILE_ROWS = 16;
/** With fewer rows, other kernels read f16 and bf16 as exactly as f32; of more, a weight would be read again too often. */
const ROWS = { least: 33, most: 128 } as const;
/** Formats of weights by vendor: f32 are sums of bf16, which only NVIDIA's fragments have here. */
const FORMATS = { nvidia: ['F32', 'F16', 'BF16'], amd: ['F16'] } as const;
/** Lines of a tile and waves that share it, of which each takes 32 columns at a time: where lines are long, many waves of few registers. */
const LONG = { columns: 1024, lines: 16, waves: 16 } as const;
const SHORT = { lines: 32, waves: 4 } as const;

/** The small products that `element-tiles.hip` computes together. */
export function elementTiles(target: HipCudaTarget): ElementTileFacts | undefined {
  if (!matrixCores(target)) return undefined;
  return { rows: ROWS, formats: FORMATS[target.vendor] };
}

/** How products of so many rows are divided among blocks of so many threads, of which each takes `lines` of 16 rows. */
export function tileGeometry(
  weights: readonly Weight[],
  rows: number,
  target: HipCudaTarget,
): { readonly lines: number; readonly waves: number; readonly threads: number; readonly rowTiles: number } {
  const cores = matrixCores(target);
  invariant(cores, 'tiles of small products are for matrix cores');
  const isLong = weights.some(({ columns }) => columns >= LONG.columns);
  const { lines, waves } = isLong ? LONG : SHORT;
  return { lines, waves, threads: waves * cores.lanes, rowTiles: Math.ceil(rows / TILE_ROWS) };
}
