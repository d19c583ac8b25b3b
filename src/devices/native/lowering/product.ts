import type { Tensor, Weight } from '../../../ops/index.ts';
import type { NativeTarget } from '../launching/kernel-set.ts';
import type { Operand } from './launch-plan.ts';
import { int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { packedFile } from './packed-formats.ts';
import { GROUP_LAYOUT } from './weight-layout.ts';

/** What a product's kernel makes of its sums; the numbers are `product.hip`'s. */
const PRODUCT_OUTPUT = { floats: 0, residual: 1, gatedHalves: 2, gated: 3 } as const;

const WAVES = 4;
/** Bytes of a line of a tile: two groups of 32 halves. */
const LINE_BYTES = 128;

/** What a block computes: outputs, rows, and how many of its four waves stand side by side over the outputs. */
interface Tile {
  readonly outputs: number;
  readonly rows: number;
  readonly across: number;
}

/** Tiles for few rows to many: small ones give every processor a block where there are few rows. */
const TILES: readonly Tile[] = [
  { outputs: 128, rows: 16, across: 4 },
  { outputs: 64, rows: 32, across: 2 },
  { outputs: 64, rows: 64, across: 2 },
  { outputs: 128, rows: 128, across: 2 },
];

/** A product over weights that lie one below the other; `x` tells the rows, `outputs` counts one part's where there are two. */
export interface Product {
  readonly x: Tensor;
  readonly weights: readonly Weight[];
  readonly outputs: number;
  readonly output: keyof typeof PRODUCT_OUTPUT;
  readonly y: Operand;
  readonly addend?: Operand;
  readonly activation?: number;
}

/** Lanes of a wave that works on a matrix fragment. */
function matrixLanes({ name }: NativeTarget): number {
  return /^gfx9(?:08|0a|40|42)$/.test(name) ? 64 : 32;
}

/** Tiles of weights two deep, tiles of activations as deep as `product.hip`'s STAGES. */
function sharedBytes({ outputs, rows }: Tile, { vendor }: NativeTarget): number {
  return LINE_BYTES * (2 * outputs + (vendor === 'nvidia' ? 4 : 2) * rows);
}

function tileFor(to: Lowering, capacity: number): Tile {
  const fitting = TILES.filter((tile) => sharedBytes(tile, to.target) <= to.target.sharedBytesOptIn);
  const enough = fitting.find(({ rows }) => rows >= capacity);
  return enough ?? (fitting.at(-1) as Tile);
}

export function launchProduct(to: Lowering, of: Product): void {
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
      WAVES_ACROSS: tile.across,
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
