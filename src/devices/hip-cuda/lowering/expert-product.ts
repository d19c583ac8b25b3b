import { alignUp } from '../../../base/bytes.ts';
import { invariant } from '../../../base/errors.ts';
import type { ProductInput } from '../../../device/index.ts';
import {
  type GatedFunction,
  type HotExperts,
  type MatmulExpertsOp,
  type MatmulHeadsOp,
  readsOwnPart,
  type Weight,
} from '../../../ops/index.ts';
import { activationCode } from './elementwise.ts';
import { outputsOf } from './expert-matvec.ts';
import type { GroupedChoices } from './grouped-choices.ts';
import { fetchExperts, hotArgs, packedCopies } from './hot-experts.ts';
import type { Operand } from './launch-plan.ts';
import { int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { matrixLanes } from './matrix-cores.ts';
import { packedFile } from './packed-formats.ts';
import { F16_CHUNK } from './staging.ts';
import { expertLayout, FLOAT_LAYOUT, GROUP_LAYOUT } from './weight-layout.ts';

const WAVES = 4;
/** Lines of the weights that a block multiplies. */
const BLOCK_LINES = 128;
/** Rows per tile, with the mean number of an expert's choices up to which there are so few: most fit into one tile. */
const TILES = [
  { rows: 8, mean: 1.5 },
  { rows: 16, mean: 6 },
  { rows: 32, mean: 14 },
  { rows: 64, mean: Number.POSITIVE_INFINITY },
] as const;
/** Blocks that a multiprocessor should hold, by the rows of their tiles: so few registers may a thread have. */
const RESIDENT: Readonly<Record<number, number>> = { 8: 3, 16: 4, 32: 3, 64: 3 };
/** The rows of tiles whose gates and ups take whichever number of blocks leaves multiprocessors idle least, fewer first. */
const FEW_ROWS = 8;
const RESIDENT_OF_FEW = [3, 4, 5];
const GROUPING_THREADS = 512;

/** Codes of `expert-product.hip` for the use of the sums. */
const OUTPUT_CODES = { f32: 3, q8: undefined, f16: 2 } as const;

/** A product of the choices of each expert, or of each head's part of all rows, with its weights. */
export interface ExpertProduct {
  readonly op: MatmulExpertsOp | MatmulHeadsOp;
  readonly x: ProductInput;
  /** For gate and up two, or one that has an expert's up behind its gate. */
  readonly weights: readonly Weight[];
  /** Copies of some of each one's experts, or none. */
  readonly hot: readonly HotExperts[];
  /** A bias for each of them, or none. */
  readonly biases: readonly Weight[];
  /** What is done with gate and up, and the form of the result. */
  readonly gated: { readonly fn: GatedFunction; readonly form: 'f32' | 'q8' | 'f16' } | undefined;
  readonly y: Operand;
}

export function launchExpertProduct(product: ExpertProduct, to: Lowering): void {
  const { op, x, weights, biases, gated, y } = product;
  invariant(x.form === 'f16', 'matrix cores multiply f16');
  const { weight } = op;
  const outputs = outputsOf(op, { weights, activation: gated?.fn });
  const count = weight.rows / op.outputs;
  const grouped = op.kind === 'matmulHeads' ? headTiles(op, to) : groupedChoices(op, to);
  const { tileRows, tileCount, order, tiles } = grouped;
  const copies = packedCopies(product.hot, op.outputs, to);
  const laid = to.weight(weights, copies ? expertLayout(op.outputs) : GROUP_LAYOUT);
  const read = copies ? fetchExperts(laid, copies, grouped, to) : laid;
  const across = gated?.form === 'f16' ? alignUp(outputs, F16_CHUNK) : outputs;
  const blocksAcross = Math.ceil(across / (BLOCK_LINES / (gated ? 2 : 1)));
  to.launch({
    file: 'expert-product.hip',
    kernel: 'expert_product',
    defines: {
      PACKED_FORMAT: packedFile(weight.format),
      TILE_ROWS: tileRows,
      RESIDENT: residentFor(op, { tileRows, blocksAcross, isGated: gated !== undefined }, to),
      HEADS: op.kind === 'matmulHeads' ? 1 : 0,
      OUTPUT: outputCode(gated),
      ACTIVATION: gated ? activationCode(gated.fn) : 0,
      ...(copies ? { HOT: 1 } : outputs < op.outputs && { JOINED: 1 }),
    },
    grid: [blocksAcross, tileCount],
    block: WAVES * matrixLanes(to.target),
    sharedBytes: tileRows * Math.max(stages(to) * 2 * F16_CHUNK, 4 * (BLOCK_LINES + 4)),
    args: [
      to.count(op.x),
      x.x,
      read,
      ...hotArgs(copies),
      order,
      tiles,
      biases.length > 0 ? to.weight(biases, FLOAT_LAYOUT) : NULL,
      y,
      int(count),
      int(outputs),
      int(weight.columns / 32),
      int(op.kind === 'matmulHeads' ? op.heads : op.expertIds.width),
      int(op.kind === 'matmulHeads' || readsOwnPart(op) ? 1 : 0),
    ],
  });
}

/** Blocks that a multiprocessor should hold of a product with so many for each tile. */
function residentFor(
  op: ExpertProduct['op'],
  of: { readonly tileRows: number; readonly blocksAcross: number; readonly isGated: boolean },
  to: Lowering,
): number {
  const { tileRows, blocksAcross, isGated } = of;
  if (op.kind === 'matmulHeads' || !isGated || tileRows > FEW_ROWS) return RESIDENT[tileRows] ?? 1;
  const ownBlocks = (blocksAcross * chosenExperts(op, to)) / to.target.multiprocessors;
  const turns = (resident: number) => Math.ceil(ownBlocks / resident) * resident;
  return RESIDENT_OF_FEW.toSorted((a, b) => turns(a) - turns(b))[0] as number;
}

/** About how many experts the rows choose together, if they choose independently: few rows take a tile of each. */
function chosenExperts({ x, expertIds, weight, outputs }: MatmulExpertsOp, to: Lowering): number {
  const count = weight.rows / outputs;
  return count * (1 - (1 - expertIds.width / count) ** to.capacity(x));
}

function outputCode(gated: ExpertProduct['gated']): number {
  const code = gated ? OUTPUT_CODES[gated.form] : 0;
  invariant(code !== undefined, 'grouped choices are not quantized');
  return code;
}

/** Chunks of the rows in shared memory. */
function stages({ target }: Lowering): number {
  return target.vendor === 'nvidia' ? 4 : 2;
}

/** NVIDIA's matrix cores also have products of eight columns. */
function tileRowsFor(mean: number, { target }: Lowering): number {
  const tiles = TILES.filter(({ rows }) => rows >= 16 || target.vendor === 'nvidia');
  return (tiles.find((tile) => mean <= tile.mean) ?? TILES[3]).rows;
}

/** All rows of each head. */
function headTiles({ x, heads }: MatmulHeadsOp, to: Lowering) {
  const rows = to.capacity(x);
  const tileRows = tileRowsFor(rows, to);
  return { tileRows, tileCount: heads * Math.ceil(rows / tileRows), order: NULL, tiles: NULL };
}

/** The choices grouped by expert, computed by the first product that needs them. */
function groupedChoices({ x, expertIds, weight, outputs }: MatmulExpertsOp, to: Lowering): GroupedChoices {
  const known = to.groupedChoices.get(expertIds);
  if (known) return known;
  const count = weight.rows / outputs;
  const choices = to.capacity(x) * expertIds.width;
  const tileRows = tileRowsFor(choices / count, to);
  const tileCount = Math.min(choices, Math.floor((choices + count * (tileRows - 1)) / tileRows));
  const made = {
    order: to.temporary(4 * choices),
    tiles: to.temporary(16 * tileCount),
    ...{ tileRows, tileCount },
  };
  to.groupedChoices.set(expertIds, made);
  to.launch({
    file: 'group-choices.hip',
    kernel: 'group_choices',
    defines: { EXPERTS: count, TILE_ROWS: tileRows },
    grid: [1],
    block: GROUPING_THREADS,
    args: [to.count(x), expertIds, int(expertIds.width), made.order, made.tiles, int(tileCount)],
  });
  return made;
}
