import type { Weight } from '../../../ops/index.ts';
import type { NativeTarget } from '../launching/kernel-set.ts';
import { isBlasProduct, launchBlasProduct } from './blas-product.ts';
import { int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { matrixLanes } from './matrix-cores.ts';
import { packedFile } from './packed-formats.ts';
import { PRODUCT_OUTPUT, type Product } from './product-plan.ts';
import { GROUP_LAYOUT } from './weight-layout.ts';

/** Waves of a block: many share a tile's k where there are few blocks; else several blocks keep a processor busy. */
const MANY_WAVES = 8;
const FEW_WAVES = 4;
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

/** The waves' sums, and before them, where copies run beside the computation, four fragments of activations a wave. */
function sharedBytes({ outputs, rows }: Tile, waves: number, { vendor }: NativeTarget): number {
  const ring = vendor === 'nvidia' ? 4 * rows * 64 : 0;
  return waves * Math.max(ring, 4 * rows * (outputs + 4));
}

function tileFor(to: Lowering, capacity: number): Tile {
  const fitting = TILES.filter(
    (tile) => sharedBytes(tile, MANY_WAVES, to.target) <= to.target.sharedBytesOptIn,
  );
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
  const across = Math.ceil(((gated ? 2 : 1) * of.outputs) / tile.outputs);
  const down = Math.ceil(capacity / tile.rows);
  const waves = across * down < 2 * to.target.multiprocessors ? MANY_WAVES : FEW_WAVES;
  const x = to.activations.halves(of.x);
  to.launch({
    file: 'product.hip',
    kernel: 'product',
    defines: {
      PACKED_FORMAT: packedFile(first.format),
      TILE_OUTPUTS: tile.outputs,
      TILE_ROWS: tile.rows,
      WAVES: waves,
      OUTPUT: PRODUCT_OUTPUT[of.output],
      ACTIVATION: of.activation ?? 0,
    },
    grid: [across, down],
    block: waves * matrixLanes(to.target),
    sharedBytes: sharedBytes(tile, waves, to.target),
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
