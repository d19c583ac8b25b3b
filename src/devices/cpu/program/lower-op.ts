import type { Op } from '../../../ops/index.ts';
import { lowerAttention, lowerKvAppend } from '../lowering/attention.ts';
import { lowerBinary, lowerGated, lowerScale, lowerUnary } from '../lowering/elementwise.ts';
import { lowerEmbed } from '../lowering/embed.ts';
import { lowerCombineExperts, lowerMatmulExperts, lowerRouteExperts } from '../lowering/experts.ts';
import { lowerMatmul } from '../lowering/matmul.ts';
import { lowerGroupNorm, lowerL2Norm, lowerLayerNorm, lowerRmsNorm } from '../lowering/norm.ts';
import { lowerLerp, lowerTokenShift, lowerWkv7, lowerWkvBonus } from '../lowering/recurrence.ts';
import { lowerRope, lowerRopeTable } from '../lowering/rope.ts';
import { lowerGatherRows, lowerSlice, lowerTokenAppend } from '../lowering/rows.ts';
import { lowerSample } from '../lowering/sample.ts';
import type { Lowering } from './lowering.ts';

/** Adds an operator's calls. Throws `OP_UNSUPPORTED` for what the kernels cannot do. */
export function lowerOp(op: Op, to: Lowering): void {
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
