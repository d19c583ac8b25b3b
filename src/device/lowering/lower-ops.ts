import { applyByKind } from '../../base/kind-table.ts';
import type { OpGraph, OpTable } from '../../ops/index.ts';
import { type Fuse, planFusions } from '../fusion/plan-fusions.ts';

/** How a device turns operators into launches: each by itself, and some of them together. */
export interface LoweringRules<Lowering> {
  readonly ops: OpTable<Lowering>;
  /** Tried in their order: what one takes, later ones do not see. */
  readonly fuses: readonly Fuse<Lowering>[];
}

/** Adds the launches of a graph's operators, of fused ones where the last of them stands. */
export function lowerOps<Lowering extends { readonly graph: OpGraph }>(
  to: Lowering,
  { ops, fuses }: LoweringRules<Lowering>,
): void {
  const fusions = planFusions(to, fuses);
  for (const op of to.graph.ops) {
    const fused = fusions.get(op);
    if (!fused) applyByKind(ops, op, to);
    else for (const fusion of fused) fusion.emit();
  }
}
