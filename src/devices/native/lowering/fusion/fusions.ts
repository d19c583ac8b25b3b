import { type Fusion, type GraphUses, planFusions } from '../../../../device/index.ts';
import type { Op, OpGraph } from '../../../../ops/index.ts';
import type { Lowering } from '../lowering.ts';
import { fuseAttention } from './fuse-attention.ts';
import { fuseCombine, fuseExperts } from './fuse-experts.ts';
import { fuseGated } from './fuse-gated.ts';
import { fuseNormedAttention } from './fuse-normed-attention.ts';
import { fuseNorm } from './fuse-norm.ts';
import { fuseProducts } from './fuse-products.ts';
import { fuseResidual } from './fuse-residual.ts';
import { fuseShift } from './fuse-shift.ts';
import { fuseWkv7 } from './fuse-wkv7.ts';

/** Looks for a group of operators that `op` tells. */
type NativeFuse = (op: Op, uses: GraphUses, to: Lowering) => Fusion | undefined;

const FUSES: readonly NativeFuse[] = [
  fuseAttention,
  fuseNormedAttention,
  fuseExperts,
  fuseCombine,
  fuseGated,
  fuseResidual,
  fuseNorm,
  fuseShift,
  fuseWkv7,
  fuseProducts,
];

/** What is launched at each operator's place. */
export function fusionsOf(graph: OpGraph, to: Lowering): ReadonlyMap<Op, readonly Fusion[]> {
  return planFusions(
    graph,
    FUSES.map((fuse) => (op, uses) => fuse(op, uses, to)),
  );
}
