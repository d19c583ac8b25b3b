import type { ProductIntent } from '../../../device/index.ts';
import { type MatmulExpertsOp, readsOwnPart } from '../../../ops/index.ts';
import type { Constant } from '../launching/kernel-module.ts';
import { type BiasPart, outputsOf } from './epilogue.ts';
import type { GroupedChoices } from './grouped-choices.ts';
import { type Argument, read } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';

/** A product of rows routed to experts, in tiles of one expert's choices. */
export interface ExpertTiles {
  readonly of: MatmulExpertsOp;
  readonly choices: GroupedChoices;
  readonly biases: BiasPart;
}

/** A product of many rows, of the batch or of experts' choices. */
export interface TiledProduct extends Omit<ProductIntent, 'kind'> {
  readonly experts?: ExpertTiles;
}

/** The number of rows for which tiles are chosen, the number of tiles of so many rows, and the outputs per row. */
export function tiledShape({ rows, weights, epilogue, experts }: TiledProduct, to: Lowering) {
  if (!experts) {
    const capacity = to.capacity(rows);
    const tilesOf = (tile: number) => Math.ceil(capacity / tile);
    return { rows: capacity, tilesOf, outputs: outputsOf(weights, epilogue) };
  }
  const { of, choices } = experts;
  return { rows: choices.tileRows, tilesOf: () => choices.tileCount, outputs: of.outputs };
}

/** The additional arguments and definitions of kernels for grouped choices. */
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
