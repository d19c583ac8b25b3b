import { packedGroups, type ProductIntent } from '../../../device/index.ts';
import type { Weight } from '../../../ops/index.ts';
import type { HipCudaTarget } from '../launching/kernel-set.ts';
import { addendOf, outputsOf, productDefines } from './epilogue.ts';
import { int } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { packedFile } from './packed-formats.ts';
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
/** Blocks a multiprocessor below which smaller tiles, whose waves divide k, are faster. */
const LEAST_BLOCKS = 1.25;

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
 * Multiplies many rows by packed weights with the matrix cores' asynchronous products; false if the target has none, for fewer rows or
 * outputs than fill it, and for codebooks, which want shared memory.
 */
export function tryWarpgroupProduct({ rows, x, weights, epilogue }: ProductIntent, to: Lowering): boolean {
  const [first] = weights as [Weight];
  const capacity = to.capacity(rows);
  const hasCodebook = packedGroups(first.format)?.quants.kind === 'grid';
  if (!hasWarpgroups(to.target) || capacity < LEAST_ROWS || hasCodebook) return false;
  const outputs = outputsOf(weights, epilogue);
  const tile = TILES.find((wanted) => wanted.rows >= capacity) ?? TILES[1];
  const across = Math.ceil(((epilogue.kind === 'gated' ? 2 : 1) * outputs) / BLOCK_LINES);
  const down = Math.ceil(capacity / tile.rows);
  if (across * down < LEAST_BLOCKS * to.target.multiprocessors) return false;
  to.launch({
    file: 'warpgroup-product.hip',
    kernel: 'warpgroup_product',
    defines: {
      PACKED_FORMAT: packedFile(first.format),
      TILE_ROWS: tile.rows,
      RESIDENT: tile.resident,
      ...productDefines(epilogue),
    },
    grid: [across, down],
    block: THREADS,
    sharedBytes: sharedBytes(tile.rows),
    residentBlocks: tile.resident,
    args: [
      to.count(rows),
      x.x,
      to.weight(weights, GROUP_LAYOUT),
      int(outputs),
      int(first.columns / 32),
      addendOf(epilogue, to),
      epilogue.y,
    ],
  });
  return true;
}
