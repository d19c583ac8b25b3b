import type { ProductIntent } from '../../../device/index.ts';
import type { Weight } from '../../../ops/index.ts';
import type { HipCudaTarget } from '../launching/kernel-set.ts';
import { outputsOf } from './epilogue.ts';
import { dividesSums, packedProductArgs, productSums } from './finish-product.ts';
import { int } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { hasWarpgroups } from './matrix-cores.ts';
import { packedFile } from './packed-formats.ts';
import { F16_CHUNK } from './staging.ts';

/** Rows that leave more than half of the smallest tile empty have kernels of their own. */
const LEAST_ROWS = 17;
/** Rows up to which smaller weights are multiplied faster by those, too: their blocks are smaller. */
const FEW_ROWS = 32;
const LEAST_ELEMENTS = 12e6;

/** Rows from which on the BLAS library is faster by dequantized copies: than these kernels, and than those of other GPUs. */
const COPIED_ROWS = 512;
const COPIED_ROWS_ELSEWHERE = 128;

/** A block's tile: rows, and warpgroups with 64 lines of weights each. */
interface Tile {
  readonly rows: number;
  readonly warpgroups: number;
  /** `UNIT` of the kernel. */
  readonly unit: number;
  /** What a chunk of k takes, in microseconds on an H200. */
  readonly time: number;
}

const TILES: readonly Tile[] = [
  { rows: 32, warpgroups: 4, unit: 2, time: 0.95 },
  { rows: 64, warpgroups: 4, unit: 2, time: 1.1 },
  { rows: 128, warpgroups: 3, unit: 2, time: 1.2 },
  { rows: 256, warpgroups: 2, unit: 1, time: 1.58 },
];
const WARPGROUP_LINES = 64;
const WARPGROUP_THREADS = 128;

/** Shared memory for the ring of activations, and for two barriers of each of its places, of which there are sixteen at most; 128 to align. */
const SHARED_BYTES = 131072 + 2 * 8 * 16 + 128;

/**
 * The share of the multiprocessors that clusters of so many blocks can have at once: a cluster's lie in one of the parts into which a GPU is
 * divided, and some of these have fewer.
 */
const CLUSTERS: readonly (readonly [blocks: number, share: number])[] = [
  [2, 0.97],
  [3, 0.8],
  [4, 0.85],
];
/** Most blocks of a column each that divide k, and the fewest chunks of each. */
const MOST_SPLITS = 8;
const LEAST_CHUNKS = 2;

/** What a launch takes besides, adding up sums of a cluster, and a byte of sums of columns that is written and read, in microseconds. */
const LAUNCH_TIME = 3;
const CLUSTER_TIME = 4;
const SUMS_TIME = 2e-7;

/** How a product's tiles are computed: whole rounds of all multiprocessors, then the rest, whose k blocks may divide. */
interface Division {
  readonly tile: Tile;
  /** Groups of lines whose tiles are computed by a block each: those of all rows, which so are summed alike wherever they stand. */
  readonly whole: number;
  /** Blocks of a cluster that divide k of the other tiles. */
  readonly cluster: number;
  /** Columns of the grid that divide k of all tiles. */
  readonly splits: number;
  readonly time: number;
}

/** Whether a product of so many rows by packed weights is this kernel's. */
export function isWarpgroupProduct(weights: readonly Weight[], rows: number, target: HipCudaTarget): boolean {
  if (!hasWarpgroups(target) || rows < LEAST_ROWS) return false;
  return rows > FEW_ROWS || weights.some((weight) => weight.rows * weight.columns >= LEAST_ELEMENTS);
}

/** Rows from which on the BLAS library is faster by dequantized copies of packed weights than kernels are by these. */
export function copiedRows(target: Pick<HipCudaTarget, 'name'>): number {
  return hasWarpgroups(target) ? COPIED_ROWS : COPIED_ROWS_ELSEWHERE;
}

/** Multiplies rows in core matrices by packed weights with the matrix cores' asynchronous products. */
export function emitWarpgroupProduct(of: ProductIntent, to: Lowering): void {
  const { rows, weights, epilogue } = of;
  const [first] = weights as [Weight];
  const capacity = to.capacity(rows);
  const outputs = outputsOf(weights, epilogue);
  const size = {
    rows: capacity,
    lines: (epilogue.kind === 'gated' ? 2 : 1) * outputs,
    chunks: Math.ceil(first.columns / F16_CHUNK),
    divides: dividesSums(of),
  };
  const { tile, whole, cluster, splits } = bestDivision(size, to.target);
  const sums = productSums(of, splits, to);
  const args = packedProductArgs(of, sums, to);
  const { down, across } = tilesOf(tile, size);
  const launch = (begin: number, end: number, blocks: number) => {
    const each = Math.min((end - begin) * down, to.target.multiprocessors);
    to.launch({
      file: 'warpgroup-product.hip',
      kernel: 'warpgroup_product',
      defines: {
        PACKED_FORMAT: packedFile(first.format),
        TILE_ROWS: tile.rows,
        WARPGROUPS: tile.warpgroups,
        UNIT: tile.unit,
        ...sums.defines,
      },
      grid: [blocks > 1 ? (end - begin) * down * blocks : each, splits],
      ...(blocks > 1 && { cluster: blocks }),
      block: WARPGROUP_THREADS * (tile.warpgroups + 1),
      sharedBytes: SHARED_BYTES,
      args: [...args, int(down), int(begin), int(end - begin)],
    });
  };
  if (whole > 0) launch(0, whole, 1);
  if (whole < across) launch(whole, across, cluster);
  sums.finish();
}

/** A product's sizes. */
interface Size {
  readonly rows: number;
  readonly lines: number;
  readonly chunks: number;
  /** Whether columns of the grid may divide k. */
  readonly divides: boolean;
}

/** Tiles with the same lines, and groups of lines. */
function tilesOf({ rows, warpgroups }: Tile, of: Size): { readonly down: number; readonly across: number } {
  return {
    down: Math.ceil(of.rows / rows),
    across: Math.ceil(of.lines / (WARPGROUP_LINES * warpgroups)),
  };
}

function bestDivision(of: Size, target: HipCudaTarget): Division {
  const divisions = TILES.flatMap((tile) => divisionsOf(tile, of, target));
  return divisions.reduce((best, division) => (division.time < best.time ? division : best));
}

function divisionsOf(tile: Tile, of: Size, { multiprocessors }: HipCudaTarget): Division[] {
  const { chunks } = of;
  const { down, across } = tilesOf(tile, of);
  const roundsOf = (groups: number) => Math.ceil((groups * down) / multiprocessors);
  const plain = { tile, whole: across, cluster: 1, splits: 1 };
  const found: Division[] = [{ ...plain, time: roundsOf(across) * chunks * tile.time + LAUNCH_TIME }];
  const whole = Math.floor((Math.floor((across * down) / multiprocessors) * multiprocessors) / down);
  for (const [cluster, share] of CLUSTERS) {
    const part = Math.ceil(chunks / cluster);
    const blocks = (across - whole) * down * cluster;
    if (blocks > share * multiprocessors || part < LEAST_CHUNKS || whole === across) continue;
    const all = roundsOf(whole) * chunks + part;
    const launches = whole > 0 ? 2 : 1;
    found.push({ ...plain, whole, cluster, time: all * tile.time + launches * LAUNCH_TIME + CLUSTER_TIME });
  }
  for (let splits = 2; of.divides && splits <= MOST_SPLITS; splits++) {
    const part = Math.ceil(chunks / splits);
    if (across * down * splits > multiprocessors || part < LEAST_CHUNKS) break;
    const bytes = 2 * 4 * splits * of.rows * of.lines;
    found.push({ ...plain, splits, time: part * tile.time + LAUNCH_TIME + SUMS_TIME * bytes });
  }
  return found;
}
