import type { ProductIntent } from '../../../device/index.ts';
import { type MatmulExpertsOp, readsOwnPart } from '../../../ops/index.ts';
import type { Constant } from '../launching/kernel-module.ts';
import { type BiasPart, outputsOf } from './epilogue.ts';
import type { GroupedChoices } from './grouped-choices.ts';
import { type Argument, read } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';

/** A product of rows that choose experts, in tiles of choices of one expert. */
export interface ExpertTiles {
  readonly of: MatmulExpertsOp;
  readonly choices: GroupedChoices;
  readonly biases: BiasPart;
}

/** A product of many rows, of the batch or of choices of experts. */
export interface TiledProduct extends Omit<ProductIntent, 'kind'> {
  readonly experts?: ExpertTiles;
}

/** How many rows tiles are chosen for, how many tiles of so many rows there are, and outputs of a row. */
export function tiledShape({ rows, weights, epilogue, experts }: TiledProduct, to: Lowering) {
  if (!experts) {
    const capacity = to.capacity(rows);
    const tilesOf = (tile: number) => Math.ceil(capacity / tile);
    return { rows: capacity, tilesOf, outputs: outputsOf(weights, epilogue) };
  }
  const { of, choices } = experts;
  return { rows: choices.tileRows, tilesOf: () => choices.tileCount, outputs: of.outputs };
}

/** What kernels for grouped choices read beside other products' arguments, and are compiled with. */
export function groupedPart({ of, choices, biases }: ExpertTiles): {
  readonly args: Readonly<Record<string, Argument>>;
  readonly constants: Readonly<Record<string, Constant>>;
} {
  return {
    args: {
      order: read(choices.order, 'array<u32>'),
      tiles: read(choices.tiles, 'array<vec4<u32>>'),
      ...biases.args,
    },
    constants: {
      CHOICES_PER_ROW: readsOwnPart(of) ? 1 : of.expertIds.width,
      EXPERTS: of.weight.rows / of.outputs,
    },
  };
}
