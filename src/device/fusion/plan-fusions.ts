import type { Op, OpGraph } from '../../ops/index.ts';
import { GraphUses } from '../gpu/graph-uses.ts';

/** Operators lowered together: launched where the last of them stands. */
export interface Fusion {
  readonly ops: readonly Op[];
  emit(): void;
}

/** Looks for a group of operators that `op` tells. */
export type Fuse<Lowering> = (op: Op, uses: GraphUses, to: Lowering) => Fusion | undefined;

/**
 * What is launched at each operator's place: nothing for the members of a group but its last. The groups are found kind
 * by kind, each from the front; the members of one are left out of all later ones.
 */
export function planFusions<Lowering extends { readonly graph: OpGraph }>(
  to: Lowering,
  fuses: readonly Fuse<Lowering>[],
): ReadonlyMap<Op, readonly Fusion[]> {
  const { graph } = to;
  const uses = new GraphUses(graph);
  const taken = new Set<Op>();
  const plan = new Map<Op, Fusion[]>();
  for (const fuse of fuses) {
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
