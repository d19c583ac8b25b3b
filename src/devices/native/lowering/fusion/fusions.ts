import type { Op, OpGraph } from '../../../../ops/index.ts';
import type { Lowering } from '../lowering.ts';
import { fuseAttention } from './fuse-attention.ts';
import { fuseCombine, fuseExperts } from './fuse-experts.ts';
import { fuseGated } from './fuse-gated.ts';
import { fuseNorm } from './fuse-norm.ts';
import { fuseProducts } from './fuse-products.ts';
import { fuseResidual } from './fuse-residual.ts';
import { fuseShift } from './fuse-shift.ts';
import { fuseWkv7 } from './fuse-wkv7.ts';
import type { Fuse, Fusion } from './fusion.ts';
import { GraphUses } from './graph-uses.ts';

const FUSES: readonly Fuse[] = [
  fuseAttention,
  fuseExperts,
  fuseCombine,
  fuseGated,
  fuseResidual,
  fuseNorm,
  fuseShift,
  fuseWkv7,
  fuseProducts,
];

/**
 * What is launched at each operator's place. The groups are found from the front; the members of one are left out of all later
 * ones.
 */
export function planFusions(graph: OpGraph, to: Lowering): ReadonlyMap<Op, readonly Fusion[]> {
  const uses = new GraphUses(graph);
  const taken = new Set<Op>();
  const plan = new Map<Op, Fusion[]>();
  for (const fuse of FUSES) {
    for (const op of graph.ops) {
      if (taken.has(op)) continue;
      const fusion = fuse(op, uses, to);
      if (!fusion || fusion.ops.some((member) => taken.has(member))) continue;
      for (const member of fusion.ops) {
        taken.add(member);
        plan.set(member, []);
      }
      const last = fusion.ops.reduce((a, b) => (uses.place(a) > uses.place(b) ? a : b));
      plan.set(last, [fusion]);
    }
  }
  return plan;
}
