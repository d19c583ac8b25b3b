import { invariant } from '../../../base/errors.ts';
import { packedGroups, type ProductIntent } from '../../../device/index.ts';
import type { TensorFormat } from '../../../formats/index.ts';
import type { Tensor, Weight } from '../../../ops/index.ts';
import { tryFewFloatRows } from './element-products.ts';
import { addendOf, outputsOf } from './epilogue.ts';
import { dividesSums, packedProductArgs, productSums } from './finish-product.ts';
import type { Operand } from './launch-plan.ts';
import { int } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { tryFloatProduct } from './library-product.ts';
import { matrixLanes } from './matrix-cores.ts';
import { bitsPerWeight, looksUpLevels, packedFile } from './packed-formats.ts';
import { AHEAD, productGeometry, sharedBytes } from './product-geometry.ts';
import { bucketOf, F16_CHUNK } from './staging.ts';
import { emitWarpgroupProduct } from './warpgroup-product.ts';
import { FILE_LAYOUT, fileFormat } from './weight-layout.ts';

/** Warps of a block that decodes weights as it reads them, and the most outputs of one. */
const DENSE_WARPS = 4;
const DENSE_LINES = 4;

/** A product of more rows than matrix-vector kernels take, or by weights that are read as they are. */
export function emitProduct(of: ProductIntent, to: Lowering): void {
  if (of.x.form === 'f32') emitDense(of, to);
  else if (of.x.form === 'core-matrices') emitWarpgroupProduct(of, to);
  else emitTiles(of, to);
}

/** Most bits of weights of which registers have room for one chunk more; those of a codebook wait for its entries, too. */
const SMALL_BITS = 6;

function isSmall(format: TensorFormat): boolean {
  return bitsPerWeight(format) <= SMALL_BITS && packedGroups(format)?.quants.kind !== 'grid';
}

/** Bits of weights that are decoded fast enough for each wave to have its own copies of activations. */
const QUICK_BITS = { least: 3, most: 5 } as const;

function isQuick(format: TensorFormat): boolean {
  const bits = bitsPerWeight(format);
  return bits >= QUICK_BITS.least && bits < QUICK_BITS.most && !looksUpLevels(format);
}

/** A product by packed weights on the matrix cores. */
function emitTiles(of: ProductIntent, to: Lowering): void {
  const { rows, weights, epilogue } = of;
  const [first] = weights as [Weight];
  const capacity = to.capacity(rows);
  const outputs = outputsOf(weights, epilogue);
  const gated = epilogue.kind === 'gated';
  const lines = (gated ? 2 : 1) * outputs;
  const chunks = Math.ceil(first.columns / F16_CHUNK);
  const { format } = first;
  const weightFacts = { small: isSmall(format), quick: isQuick(format) };
  const size = { rows: capacity, lines, ...weightFacts, chunks, gated, divides: dividesSums(of) };
  const geometry = productGeometry(size, to.target);
  const { tile, waves, share, depth, resident, splits } = geometry;
  const sums = productSums(of, splits, to);
  to.launch({
    file: 'product.hip',
    kernel: 'product',
    defines: {
      PACKED_FORMAT: packedFile(first.format),
      TILE_OUTPUTS: tile.outputs,
      TILE_ROWS: tile.rows,
      WAVES: waves,
      SHARE: share,
      DEPTH: depth,
      AHEAD,
      RESIDENT: resident,
      SPLITS: splits,
      ...sums.defines,
    },
    grid: [Math.ceil(lines / (share * tile.outputs)), Math.ceil(capacity / tile.rows), splits],
    block: waves * matrixLanes(to.target),
    sharedBytes: sharedBytes(geometry, to.target),
    args: packedProductArgs(of, sums, to),
  });
  sums.finish();
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
