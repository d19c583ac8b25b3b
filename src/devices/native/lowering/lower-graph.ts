import type { Op, OpGraph } from '../../../ops/index.ts';
import type { NativeTarget } from '../launching/kernel-set.ts';
import { lowerAttention, lowerKvAppend } from './attention.ts';
import { lowerBinary, lowerGated, lowerScale, lowerUnary } from './elementwise.ts';
import { lowerCombineExperts, lowerMatmulExperts, lowerRouteExperts } from './experts.ts';
import { fusionsOf } from './fusion/fusions.ts';
import type { LoweredProgram } from './lowered-program.ts';
import { Lowering } from './lowering.ts';
import { lowerMatmul } from './matmul.ts';
import { lowerLayerNorm, lowerRmsNorm } from './norm.ts';
import { lowerGroupNorm, lowerL2Norm, lowerLerp, lowerTokenShift, lowerWkvBonus } from './recurrence.ts';
import { lowerRope, lowerRopeTable } from './rope.ts';
import { lowerEmbed, lowerGatherRows, lowerSlice, lowerTokenAppend } from './rows.ts';
import { lowerSample } from './sample.ts';
import { lowerWkv7 } from './wkv7.ts';

/** Turns a recorded graph into kernel launches. Throws `OP_UNSUPPORTED` for what no kernel can do. */
export function lowerGraph(graph: OpGraph, target: NativeTarget): LoweredProgram {
  const to = new Lowering(graph, target);
  const fusions = fusionsOf(graph, to);
  for (const op of graph.ops) {
    const fused = fusions.get(op);
    if (!fused) lowerOp(op, to);
    else for (const fusion of fused) fusion.emit();
  }
  return to.finish();
}

/** Adds the launches of one operator by itself. */
function lowerOp(op: Op, to: Lowering): void {
  switch (op.kind) {
    case 'embed':
      return lowerEmbed(op, to);
    case 'matmul':
      return lowerMatmul(op, to);
    case 'routeExperts':
      return lowerRouteExperts(op, to);
    case 'matmulExperts':
      return lowerMatmulExperts(op, to);
    case 'combineExperts':
      return lowerCombineExperts(op, to);
    case 'add':
    case 'mul':
      return lowerBinary(op, to);
    case 'scale':
      return lowerScale(op, to);
    case 'unary':
      return lowerUnary(op, to);
    case 'gated':
      return lowerGated(op, to);
    case 'slice':
      return lowerSlice(op, to);
    case 'lerp':
      return lowerLerp(op, to);
    case 'groupNorm':
      return lowerGroupNorm(op, to);
    case 'l2Norm':
      return lowerL2Norm(op, to);
    case 'tokenShift':
      return lowerTokenShift(op, to);
    case 'wkv7':
      return lowerWkv7(op, to);
    case 'wkvBonus':
      return lowerWkvBonus(op, to);
    case 'rmsNorm':
      return lowerRmsNorm(op, to);
    case 'layerNorm':
      return lowerLayerNorm(op, to);
    case 'ropeTable':
      return lowerRopeTable(op, to);
    case 'rope':
      return lowerRope(op, to);
    case 'tokenAppend':
      return lowerTokenAppend(op, to);
    case 'kvAppend':
      return lowerKvAppend(op, to);
    case 'attention':
      return lowerAttention(op, to);
    case 'gatherRows':
      return lowerGatherRows(op, to);
    case 'sample':
      return lowerSample(op, to);
    default:
      op satisfies never;
  }
}
