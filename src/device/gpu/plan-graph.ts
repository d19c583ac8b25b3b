import type { Op, OpGraph } from '../../ops/index.ts';
import { fuseHeads, planAttention } from './attention.ts';
import { fuseElementChain, fuseElementProducts } from './element-products.ts';
import { fuseCombine, fuseExperts, planMatmulExperts, planMatmulHeads } from './experts.ts';
import type { GpuFacts } from './facts.ts';
import { type Fuse, findFusions } from './fusion.ts';
import type { IntentWithout, OptionalKind } from './intent.ts';
import { GpuPlanner } from './planner.ts';
import {
  fuseGated,
  fuseGatedNorm,
  fuseMatvecGroup,
  fuseNorm,
  fuseNormResidual,
  fusePushedSum,
  fuseReduceResidual,
  fuseResidual,
  fuseRoundedUnary,
  planMatmul,
} from './products.ts';
import { fuseGatedDelta, fuseShiftLerps, fuseWkv7, planWkv7 } from './recurrence.ts';

/** Fusion rules, larger groups first. */
const FUSES: readonly Fuse[] = [
  fuseHeads,
  fuseExperts,
  fuseCombine,
  fuseGated,
  fuseResidual,
  fusePushedSum,
  fuseReduceResidual,
  fuseNormResidual,
  fuseGatedNorm,
  fuseNorm,
  fuseShiftLerps,
  fuseWkv7,
  fuseGatedDelta,
  fuseMatvecGroup,
  fuseElementProducts,
  fuseElementChain,
  fuseRoundedUnary,
];

/**
 * Plans the launches of a graph for a target: which operators are fused, by which kernel, on which form of activations.
 * Pure: it names no kernel and allocates nothing. The intents are in execution order.
 */
export function planGraph<Lacks extends OptionalKind>(
  graph: OpGraph,
  facts: GpuFacts<Lacks>,
): readonly IntentWithout<Lacks>[] {
  const to = new GpuPlanner(graph, facts);
  const fusions = findFusions(to, FUSES);
  for (const op of graph.ops) {
    const fused = fusions.get(op);
    if (!fused) planAlone(op, to);
    else for (const fusion of fused) fusion.plan();
  }
  // The planner checks each intent against what the target lacks.
  return to.intents as readonly IntentWithout<Lacks>[];
}

function planAlone(op: Op, to: GpuPlanner): void {
  switch (op.kind) {
    case 'matmul':
      planMatmul(op, to);
      break;
    case 'matmulHeads':
      planMatmulHeads(op, to);
      break;
    case 'matmulExperts':
      planMatmulExperts(op, to);
      break;
    case 'attention':
      planAttention(op, to);
      break;
    case 'wkv7':
      planWkv7(op, to);
      break;
    default:
      to.add(op);
  }
}
