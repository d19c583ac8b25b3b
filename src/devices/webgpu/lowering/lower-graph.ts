import { planFusions } from '../../../device/index.ts';
import type { Op, OpGraph } from '../../../ops/index.ts';
import type { GpuTarget } from '../gpu-target.ts';
import { Activations } from './activations.ts';
import { lowerKvAppend } from './attention.ts';
import { lowerAttention } from './attention-tiles.ts';
import { lowerBinary, lowerGated, lowerScale, lowerUnary } from './elementwise.ts';
import { lowerCombineExperts, lowerMatmulExperts, lowerRouteExperts } from './experts.ts';
import { fuseAttention } from './fusion/fuse-attention.ts';
import { fuseGated } from './fusion/fuse-gated.ts';
import { fuseNorm } from './fusion/fuse-norm.ts';
import { fuseResidual } from './fusion/fuse-residual.ts';
import type { LoweredProgram } from './lowered-program.ts';
import { Lowering } from './lowering.ts';
import { lowerMatmul } from './matmul.ts';
import { lowerLayerNorm, lowerRmsNorm } from './norm.ts';
import {
  lowerGroupNorm,
  lowerL2Norm,
  lowerLerp,
  lowerSlice,
  lowerTokenShift,
  lowerWkv7,
  lowerWkvBonus,
} from './recurrence.ts';
import { lowerRope, lowerRopeTable } from './rope.ts';
import { lowerEmbed, lowerGatherRows, lowerTokenAppend } from './rows.ts';
import { lowerSample } from './sample.ts';

const FUSES = [fuseAttention, fuseGated, fuseResidual, fuseNorm];

/** Turns a recorded graph into dispatches. Throws `OP_UNSUPPORTED` for what no kernel can do. */
export function lowerGraph(graph: OpGraph, target: GpuTarget): LoweredProgram {
  const to = new Lowering(graph, target);
  const activations = new Activations(to);
  const fusions = planFusions(
    graph,
    FUSES.map((fuse) => fuse(to, activations)),
  );
  for (const op of graph.ops) {
    const fused = fusions.get(op);
    if (!fused) lowerOp(op, to, activations);
    else for (const fusion of fused) fusion.emit();
  }
  return to.finish();
}

/** Adds the launches of one operator by itself. */
function lowerOp(op: Op, to: Lowering, activations: Activations): void {
  switch (op.kind) {
    case 'embed':
      return lowerEmbed(op, to);
    case 'matmul':
      return lowerMatmul(op, to, activations);
    case 'routeExperts':
      return lowerRouteExperts(op, to);
    case 'matmulExperts':
      return lowerMatmulExperts(op, to, activations);
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
