import type { ElementTileFacts } from '../../../device/index.ts';
import { invariant } from '../../../base/errors.ts';
import type { Weight } from '../../../ops/index.ts';
import type { HipCudaTarget } from '../launching/kernel-set.ts';
import { matrixCores } from './matrix-cores.ts';

/** With fewer rows, other kernels read f16 and bf16 as exactly as f32; of more, a weight would be read again too often. */
const ROWS = { least: 33, most: 128 } as const;
/** Formats of weights by vendor: f32 are sums of bf16, which only NVIDIA's fragments have here. */
const FORMATS = { nvidia: ['F32', 'F16', 'BF16'], amd: ['F16'] } as const;
const TILE_ROWS = 16;
/** Tiles of long lines, which many waves share: as many as may be if all blocks run at once, each on a multiprocessor of its own. */
const LONG = { columns: 1024, lines: 16, waves: { most: 16, many: 8 } } as const;
/** Tiles of short lines: a wave takes 32 columns at a time, so that more waves would have nothing to do. */
const SHORT = { lines: 32, waves: 4 } as const;

/** The small products that `element-tiles.hip` computes together. */
export function elementTiles(target: HipCudaTarget): ElementTileFacts | undefined {
  if (!matrixCores(target)) return undefined;
  return { rows: ROWS, formats: FORMATS[target.vendor] };
}

/** The kernel's constants for products of so many rows, and how many blocks take different rows. */
export function tileGeometry(
  weights: readonly Weight[],
  rows: number,
  target: HipCudaTarget,
): {
  readonly defines: Readonly<Record<'TILE_LINES' | 'WAVES', number>>;
  readonly threads: number;
  readonly rowTiles: number;
} {
  const cores = matrixCores(target);
  invariant(cores, 'tiles of small products are for matrix cores');
  const isLong = weights.some(({ columns }) => columns >= LONG.columns);
  const tile = isLong ? LONG : SHORT;
  const rowTiles = Math.ceil(rows / TILE_ROWS);
  const blocks = rowTiles * weights.reduce((sum, weight) => sum + Math.ceil(weight.rows / tile.lines), 0);
  const waves = isLong ? LONG.waves[blocks <= target.multiprocessors ? 'most' : 'many'] : SHORT.waves;
  const defines = { TILE_LINES: tile.lines, WAVES: waves };
  return { defines, threads: waves * cores.lanes, rowTiles };
}
