import type { Weight } from '../../../ops/index.ts';
import type { NativeTarget } from '../launching/kernel-set.ts';
import { isBlasProduct, launchBlasProduct } from './blas-product.ts';
import { int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { packedFile } from './packed-formats.ts';
import { PRODUCT_OUTPUT, type Product } from './product-plan.ts';
import { GROUP_LAYOUT } from './weight-layout.ts';

const WAVES = 8;
/** What a block computes: outputs, rows. */
interface Tile {
  readonly outputs: number;
  readonly rows: number;
}

/** Tiles for few rows to many. */
const TILES: readonly Tile[] = [
  { outputs: 32, rows: 16 },
  { outputs: 32, rows: 32 },
  { outputs: 32, rows: 64 },
];

/** Lanes of a wave that works on a matrix fragment. */
export function matrixLanes({ name }: NativeTarget): number {
  return /^gfx9(?:08|0a|40|42)$/.test(name) ? 64 : 32;
}

/** The waves' sums, and before them, where copies run beside the computation, four fragments of activations a wave. */
function sharedBytes({ outputs, rows }: Tile, { vendor }: NativeTarget): number {
  const ring = vendor === 'nvidia' ? 4 * rows * 64 : 0;
  return WAVES * Math.max(ring, 4 * rows * (outputs + 4));
}

function tileFor(to: Lowering, capacity: number): Tile {
  const fitting = TILES.filter((tile) => sharedBytes(tile, to.target) <= to.target.sharedBytesOptIn);
  return fitting.find(({ rows }) => rows >= capacity) ?? (fitting.at(-1) as Tile);
}

/** A product of more rows than matrix-vector kernels take: on the driver's BLAS library where that wins, else on our own. */
export function launchProduct(to: Lowering, of: Product): void {
  if (isBlasProduct(to, of)) {
    launchBlasProduct(to, of);
    return;
  }
  const [first] = of.weights as [Weight];
  const capacity = to.capacity(of.x);
  const tile = tileFor(to, capacity);
  const gated = of.output === 'gated' || of.output === 'gatedHalves';
  const x = to.activations.halves(of.x);
  to.launch({
    file: 'product.hip',
    kernel: 'product',
    defines: {
      PACKED_FORMAT: packedFile(first.format),
      TILE_OUTPUTS: tile.outputs,
      TILE_ROWS: tile.rows,
      OUTPUT: PRODUCT_OUTPUT[of.output],
      ACTIVATION: of.activation ?? 0,
    },
    grid: [Math.ceil(((gated ? 2 : 1) * of.outputs) / tile.outputs), Math.ceil(capacity / tile.rows)],
    block: WAVES * matrixLanes(to.target),
    sharedBytes: sharedBytes(tile, to.target),
    args: [
      to.count(of.x),
      x,
      to.weight(of.weights, GROUP_LAYOUT),
      int(of.outputs),
      int(first.columns / 32),
      of.addend ?? NULL,
      of.y,
    ],
  });
}
