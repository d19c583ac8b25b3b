import { invariant } from '../../../base/errors.ts';
import type { ProductIntent } from '../../../device/index.ts';
import type { Tensor, Weight } from '../../../ops/index.ts';
import type { HipCudaTarget } from '../launching/kernel-set.ts';
import { tryFewFloatRows } from './element-products.ts';
import { addendOf, outputsOf, productDefines } from './epilogue.ts';
import type { Operand } from './launch-plan.ts';
import { int } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { tryFloatProduct } from './library-product.ts';
import { matrixLanes } from './matrix-cores.ts';
import { packedFile } from './packed-formats.ts';
import { bucketOf, CODEBOOK_BYTES } from './staging.ts';
import { tryWarpgroupProduct } from './warpgroup-product.ts';
import { FILE_LAYOUT, fileFormat, GROUP_LAYOUT } from './weight-layout.ts';

/**
 * Waves per block: many share a tile's k if there are few blocks; otherwise several blocks keep a multiprocessor busy.
 */
const MANY_WAVES = 8;
const FEW_WAVES = 4;
/** If there is no second block for most multiprocessors, with rows whose sums leave so many waves enough registers. */
const MOST_WAVES = { waves: 16, rows: 16 } as const;
/** Warps of a block that decodes weights as it reads them, and the most outputs of one. */
const DENSE_WARPS = 4;
const DENSE_LINES = 4;

/** The outputs and rows that a block computes. */
interface Tile {
  readonly outputs: number;
  readonly rows: number;
}

/** Tiles from few rows to many; NVIDIA's matrix cores also have products of eight columns. */
const TILES: readonly Tile[] = [
  { outputs: 32, rows: 8 },
  { outputs: 32, rows: 16 },
  { outputs: 32, rows: 32 },
  { outputs: 32, rows: 64 },
];

/** Outputs of a wider tile of few rows. */
const WIDE_OUTPUTS = 48;

/**
 * Shared memory for the waves' sums and, before these, four fragments of activations for so many waves that share them if copies overlap
 * with the computation.
 */
function sharedBytes({ outputs, rows }: Tile, waves: number, { vendor }: HipCudaTarget, share = 1): number {
  const ring = vendor === 'nvidia' ? 4 * rows * 64 : 0;
  return (waves / share) * Math.max(ring, share * 4 * rows * (outputs + 4));
}

/** Rows of the tiles whose waves share activations, and how many do at most. */
const SHARED_ROWS = 64;
const MOST_SHARED = [4, 2];

/** Blocks whose waves share nothing. */
function blocksOf({ rows, outputs }: Tile, capacity: number, lines: number): number {
  return Math.ceil(lines / outputs) * Math.ceil(capacity / rows);
}

/** How many waves of a block share activations: of many rows, as long as there is a block for each multiprocessor. */
function shareFor({ rows }: Tile, blocks: number, { multiprocessors, vendor }: HipCudaTarget): number {
  if (vendor !== 'nvidia' || rows < SHARED_ROWS) return 1;
  return MOST_SHARED.find((count) => blocks >= count * multiprocessors) ?? 1;
}

function wavesFor({ rows }: Tile, blocks: number, { multiprocessors, vendor }: HipCudaTarget): number {
  if (vendor === 'nvidia' && blocks <= multiprocessors && rows <= MOST_WAVES.rows) return MOST_WAVES.waves;
  return blocks < 2 * multiprocessors ? MANY_WAVES : FEW_WAVES;
}

function tileFor({ target }: Lowering, capacity: number, lines: number): Tile {
  const fitting = TILES.filter((tile) => {
    const share = shareFor(tile, blocksOf(tile, capacity, lines), target);
    const bytes = sharedBytes(tile, MANY_WAVES, target, share) + CODEBOOK_BYTES;
    return bytes <= target.sharedBytesOptIn && (tile.rows >= 16 || target.vendor === 'nvidia');
  });
  return fitting.find(({ rows }) => rows >= capacity) ?? (fitting.at(-1) as Tile);
}

/** Of few rows, with more outputs where each multiprocessor then has one block and would else have one or two. */
function widened(tile: Tile, lines: number, { target: { multiprocessors } }: Lowering): Tile {
  const wide =
    tile.rows < 16 && lines > tile.outputs * multiprocessors && lines <= WIDE_OUTPUTS * multiprocessors;
  return wide ? { ...tile, outputs: WIDE_OUTPUTS } : tile;
}

/** A product of more rows than matrix-vector kernels take, or by weights that are read as they are. */
export function emitProduct(of: ProductIntent, to: Lowering): void {
  if (of.x.form === 'f32') emitDense(of, to);
  else if (!tryWarpgroupProduct(of, to)) emitTiles(of, to);
}

/** A product by packed weights on the matrix cores. */
function emitTiles({ rows, x, weights, epilogue }: ProductIntent, to: Lowering): void {
  const [first] = weights as [Weight];
  const capacity = to.capacity(rows);
  const outputs = outputsOf(weights, epilogue);
  const gated = epilogue.kind === 'gated';
  const lines = (gated ? 2 : 1) * outputs;
  const narrow = tileFor(to, capacity, lines);
  const tile = gated ? narrow : widened(narrow, outputs, to);
  const down = Math.ceil(capacity / tile.rows);
  const share = shareFor(tile, blocksOf(tile, capacity, lines), to.target);
  const across = Math.ceil(lines / (share * tile.outputs));
  const waves = wavesFor(tile, across * down, to.target);
  to.launch({
    file: 'product.hip',
    kernel: 'product',
    defines: {
      PACKED_FORMAT: packedFile(first.format),
      TILE_OUTPUTS: tile.outputs,
      TILE_ROWS: tile.rows,
      WAVES: waves,
      SHARE: share,
      ...productDefines(epilogue),
    },
    grid: [across, down],
    block: waves * matrixLanes(to.target),
    sharedBytes: sharedBytes(tile, waves, to.target, share),
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
}

function emitDense(of: ProductIntent, to: Lowering): void {
  const { rows, x, weights, epilogue } = of;
  const [weight] = weights as [Weight];
  invariant(epilogue.kind === 'store' && weights.length === 1, 'numbers are multiplied by themselves');
  if (tryFloatProduct(of, to)) return;
  const [own] = epilogue.biases;
  if (tryFewFloatRows({ x: x.x, rows, weight, bias: own, y: epilogue.y }, to)) return;
  const bias = addendOf(epilogue, to);
  launchDenseProduct({ x: x.x, rows, weight, outputs: weight.rows, bias, y: epilogue.y }, to);
}

/** A product whose weights are decoded to f32 as they are read: of whole rows, or of a part of them for each so many outputs. */
export function launchDenseProduct(
  of: {
    readonly x: Operand;
    /** What has the batch's rows. */
    readonly rows: Tensor;
    readonly weight: Weight;
    readonly outputs: number;
    readonly bias: Operand;
    readonly y: Operand;
  },
  to: Lowering,
): void {
  const { x, weight, outputs, bias, y } = of;
  const capacity = to.capacity(of.rows);
  const rows = bucketOf(capacity);
  const across = Math.ceil(weight.rows / (DENSE_WARPS * DENSE_LINES));
  const down = Math.ceil(capacity / rows);
  // Several lines read activations once, where there are blocks enough, and where all outputs read the same.
  const lines = outputs === weight.rows && across * down >= 4 * to.target.multiprocessors ? DENSE_LINES : 1;
  to.launch({
    file: 'dense-product.hip',
    kernel: 'dense_product',
    defines: { FILE_FORMAT: fileFormat(weight), ROWS: rows, LINES: lines },
    grid: [Math.ceil(weight.rows / (DENSE_WARPS * lines)), down],
    block: 128,
    args: [
      to.count(of.rows),
      x,
      to.weight([weight], FILE_LAYOUT),
      bias,
      y,
      int(weight.columns),
      int(weight.rows),
      int(outputs),
    ],
  });
}
