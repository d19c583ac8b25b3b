import type { ExpertProductIntent, GatedExpertsIntent } from '../../../device/index.ts';
import type { MatmulExpertsOp } from '../../../ops/index.ts';
import { GROUP_CHOICES } from '../kernels/tile-rows.ts';
import { expertBiases } from './epilogue.ts';
import type { GroupedChoices } from './grouped-choices.ts';
import { read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { launchProduct } from './product.ts';

const THREADS = 256;
/** Rows per tile, for experts selected by few rows and by many. */
const FEW_TILE_ROWS = 32;
const MANY_TILE_ROWS = 64;

/** A product of the choices of each expert. */
export function launchGroupedProduct({ op, x }: ExpertProductIntent, to: Lowering): void {
  const experts = { of: op, choices: groupedChoices(op, to), biases: expertBiases([op], 'tile', to) };
  const epilogue = { kind: 'store', y: op.out, biases: [] } as const;
  launchProduct({ rows: op.x, x, weights: [op.weight], epilogue, experts }, to);
}

/** Gate and up of the choices of each expert as one product, with the activation. */
export function launchGroupedGated({ gate, up, op, x, y, form }: GatedExpertsIntent, to: Lowering): void {
  const biases = expertBiases([gate, up], 'tile', to);
  const experts = { of: gate, choices: groupedChoices(gate, to), biases };
  const epilogue = { kind: 'gated', fn: op.fn, y, form } as const;
  launchProduct({ rows: gate.x, x, weights: [gate.weight, up.weight], epilogue, experts }, to);
}

/** The choices grouped by expert, computed by the first product that needs them. */
function groupedChoices({ x, expertIds, weight, outputs }: MatmulExpertsOp, to: Lowering): GroupedChoices {
  const known = to.groupedChoices.get(expertIds);
  if (known) return known;
  const count = weight.rows / outputs;
  const choices = to.capacity(x) * expertIds.width;
  const tileRows = choices / count > FEW_TILE_ROWS ? MANY_TILE_ROWS : FEW_TILE_ROWS;
  const tileCount = Math.min(choices, Math.floor((choices + count * (tileRows - 1)) / tileRows));
  const made = {
    order: to.temporary(4 * choices),
    tiles: to.temporary(16 * tileCount),
    ...{ tileRows, tileCount },
  };
  to.groupedChoices.set(expertIds, made);
  to.launch({
    name: 'group_choices',
    texts: [GROUP_CHOICES],
    constants: {
      THREADS,
      COUNT: to.countOf(x),
      TOP_K: expertIds.width,
      EXPERTS: count,
      TILE_ROWS: tileRows,
      TILES: tileCount,
    },
    args: {
      counts: to.counts,
      experts: read(expertIds, 'array<i32>'),
      order: write(made.order, 'array<u32>'),
      tiles: write(made.tiles, 'array<vec4<u32>>'),
    },
    grid: [1],
  });
  return made;
}
