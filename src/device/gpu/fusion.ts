import type { Op } from '../../ops/index.ts';
import type { GpuPlanner } from './planner.ts';

/** Operators that are computed together, planned at the position of the last of them. */
export interface Fusion {
  readonly ops: readonly Op[];
  plan(): void;
}

/** Looks for a group of operators identified by `op`, or for several that depend on each other. */
export type Fuse = (op: Op, to: GpuPlanner) => Fusion | readonly Fusion[] | undefined;

/**
 * What is planned at each operator: nothing for the members of a group except its last. Groups are found rule by rule,
 * each from the start of the graph; members of one are excluded from later ones.
 */
export function findFusions(to: GpuPlanner, fuses: readonly Fuse[]): ReadonlyMap<Op, readonly Fusion[]> {
  const { graph, uses, taken } = to;
  const found = new Map<Op, Fusion[]>();
  for (const fuse of fuses) {
    for (const op of graph.ops) {
      if (taken.has(op)) continue;
      const fusions = [fuse(op, to) ?? []].flat();
      if (fusions.some(({ ops }) => ops.some((member) => taken.has(member)))) continue;
      for (const fusion of fusions) {
        for (const member of fusion.ops) {
          taken.add(member);
          found.set(member, []);
        }
        const last = fusion.ops.reduce((a, b) => (uses.place(a) > uses.place(b) ? a : b));
        found.set(last, [fusion]);
      }
    }
  }
  return found;
}
