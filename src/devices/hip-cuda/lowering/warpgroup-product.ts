import { packedGroups, type ProductIntent } from '../../../device/index.ts';
import type { Weight } from '../../../ops/index.ts';
import type { HipCudaTarget } from '../launching/kernel-set.ts';
import { outputsOf } from './epilogue.ts';
import { dividesSums, productSums } from './finish-product.ts';
import { int } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { packedFile } from './packed-formats.ts';
import { F16_CHUNK } from './staging.ts';
import { GROUP_LAYOUT } from './weight-layout.ts';

/** Threads of a block, and its lines of weights: gates and ups are two lines. */
const THREADS = 256;
const BLOCK_LINES = 128;

/** Rows of a block, and the blocks that a multiprocessor has registers for. */
const TILES = [
  { rows: 64, resident: 2 },
  { rows: 128, resident: 1 },
] as const;
/** Rows that leave more than half of the smallest tile empty have kernels of their own. */
const LEAST_ROWS = 33;
/** Blocks a multiprocessor below which they divide k, and the part of those that run at once below which smaller tiles are faster. */
const LEAST_BLOCKS = 1.25;
const LEAST_DIVIDED = 0.7;
/** Most blocks that divide k, and the fewest chunks of k that each of them has. */
const MOST_SPLITS = 8;
const LEAST_CHUNKS = 4;

/** Shared memory for the ring of activations, whose planes lie 32 bytes apart, and after it for the sums. */
function sharedBytes(rows: number): number {
  const [stages, planes] = [4, 16];
  return Math.max(stages * planes * (16 * rows + 32), 4 * rows * (BLOCK_LINES + 4));
}

/** Whether a target has products of warpgroups, which Hopper alone has. */
function hasWarpgroups({ name }: HipCudaTarget): boolean {
  return name === 'sm_90';
}

/**
 * How many blocks divide k: none where there are enough of them, otherwise as many as run at once; undefined where these are too few.
 */
function splitsOf(
  { blocks, chunks, resident }: { blocks: number; chunks: number; resident: number },
  { multiprocessors }: HipCudaTarget,
): number | undefined {
  if (blocks >= LEAST_BLOCKS * multiprocessors) return 1;
  const atOnce = resident * multiprocessors;
  const splits = Math.min(Math.floor(atOnce / blocks), Math.floor(chunks / LEAST_CHUNKS), MOST_SPLITS);
  return splits > 1 && blocks * splits >= LEAST_DIVIDED * atOnce ? splits : undefined;
}

/**
 * Multiplies many rows by packed weights with the matrix cores' asynchronous products; false if the target has none, for fewer rows or
 * outputs than fill it, and for codebooks, which want shared memory.
 */
export function tryWarpgroupProduct(of: ProductIntent, to: Lowering): boolean {
  const { rows, x, weights, epilogue } = of;
  const [first] = weights as [Weight];
  const capacity = to.capacity(rows);
  const hasCodebook = packedGroups(first.format)?.quants.kind === 'grid';
  if (!hasWarpgroups(to.target) || capacity < LEAST_ROWS || hasCodebook) return false;
  const outputs = outputsOf(weights, epilogue);
  const tile = TILES.find((wanted) => wanted.rows >= capacity) ?? TILES[1];
  const across = Math.ceil(((epilogue.kind === 'gated' ? 2 : 1) * outputs) / BLOCK_LINES);
  const down = Math.ceil(capacity / tile.rows);
  const chunks = Math.ceil(first.columns / F16_CHUNK);
  const splits = splitsOf({ blocks: across * down, chunks, resident: tile.resident }, to.target);
  if (splits === undefined || (splits > 1 && !dividesSums(of))) return false;
  const sums = productSums(of, splits, to);
  to.launch({
    file: 'warpgroup-product.hip',
    kernel: 'warpgroup_product',
    defines: {
      PACKED_FORMAT: packedFile(first.format),
      TILE_ROWS: tile.rows,
      RESIDENT: tile.resident,
      ...sums.defines,
    },
    grid: [across, down, splits],
    block: THREADS,
    sharedBytes: sharedBytes(tile.rows),
    residentBlocks: tile.resident,
    args: [
      to.count(rows),
      x.x,
      to.weight(weights, GROUP_LAYOUT),
      int(outputs),
      int(first.columns / 32),
      ...sums.args,
    ],
  });
  sums.finish();
  return true;
}
