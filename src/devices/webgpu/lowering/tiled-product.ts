import type { ProductIntent } from '../../../device/index.ts';
import { type MatmulExpertsOp, type MatmulHeadsOp, readsOwnPart } from '../../../ops/index.ts';
import type { TileRowsKind } from '../kernels/tile-rows.ts';
import type { Constant } from '../launching/kernel-module.ts';
import { type BiasPart, outputsOf } from './epilogue.ts';
import type { GroupedChoices } from './grouped-choices.ts';
import { type Argument, read } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import type { WeightChunk } from './webgpu-weight.ts';

/** A product of rows routed to experts, in tiles of one expert's choices. */
export interface ExpertTiles {
  readonly of: MatmulExpertsOp;
  readonly choices: GroupedChoices;
  readonly biases: BiasPart;
}

/** A product of many rows, of the batch, of experts' choices, or of heads with a matrix each. */
export interface TiledProduct extends Omit<ProductIntent, 'kind'> {
  readonly experts?: ExpertTiles;
  readonly heads?: MatmulHeadsOp;
}

/** How a product's rows are brought into tiles. */
export interface TiledRows {
  readonly kind: TileRowsKind;
  /** How kernels for these rows are called. */
  readonly prefix: string;
  /** How many rows tiles are chosen for. */
  readonly rows: number;
  /** Outputs of a row. */
  readonly outputs: number;
  /** How many tiles of so many rows there are. */
  tilesOf(tile: number): number;
  /** Rows of a matrix that a chunk of the weights has. */
  rowsOf(chunk: WeightChunk): number;
  /** What kernels read beside other products' arguments, and are compiled with for tiles of so many rows. */
  readonly args: Readonly<Record<string, Argument>>;
  constantsFor(tile: number): Readonly<Record<string, Constant>>;
}

/** How the rows of a product are brought into tiles. */
export function tiledRows(product: TiledProduct, to: Lowering): TiledRows {
  if (product.experts) return expertRows(product.experts);
  if (product.heads) return headRows(product.heads, to);
  const { rows, weights, epilogue } = product;
  const capacity = to.capacity(rows);
  const parts = epilogue.kind === 'gated' ? 2 : 1;
  return {
    kind: 'batch',
    prefix: '',
    rows: capacity,
    outputs: outputsOf(weights, epilogue),
    tilesOf: (tile) => Math.ceil(capacity / tile),
    rowsOf: (chunk) => chunk.rowCount / parts,
    args: {},
    constantsFor: () => ({}),
  };
}

function expertRows({ of, choices, biases }: ExpertTiles): TiledRows {
  const constants = {
    CHOICES_PER_ROW: readsOwnPart(of) ? 1 : of.expertIds.width,
    EXPERTS: of.weight.rows / of.outputs,
  };
  return {
    kind: 'experts',
    prefix: 'grouped_',
    rows: choices.tileRows,
    outputs: of.outputs,
    tilesOf: () => choices.tileCount,
    rowsOf: () => of.outputs,
    args: {
      order: read(choices.order, 'array<u32>'),
      tiles: read(choices.tiles, 'array<vec4<u32>>'),
      ...biases.args,
    },
    constantsFor: () => constants,
  };
}

function headRows({ x, heads, outputs }: MatmulHeadsOp, to: Lowering): TiledRows {
  const capacity = to.capacity(x);
  return {
    kind: 'heads',
    prefix: 'head_',
    rows: capacity,
    outputs,
    tilesOf: (tile) => heads * Math.ceil(capacity / tile),
    rowsOf: () => outputs,
    args: {},
    constantsFor: (tile) => ({ HEADS: heads, HEAD_TILES: Math.ceil(capacity / tile) }),
  };
}
