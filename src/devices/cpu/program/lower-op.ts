import type { Op } from '../../../ops/index.ts';
import { lowerAttention, lowerKvAppend } from '../lowering/attention.ts';
import { lowerBinary, lowerGated, lowerScale, lowerUnary } from '../lowering/elementwise.ts';
import { lowerEmbed } from '../lowering/embed.ts';
import { lowerMatmul } from '../lowering/matmul.ts';
import { lowerLayerNorm, lowerRmsNorm } from '../lowering/norm.ts';
import { lowerRope, lowerRopeTable } from '../lowering/rope.ts';
import { lowerGatherRows, lowerSlice, lowerTokenAppend } from '../lowering/rows.ts';
import { lowerSample } from '../lowering/sample.ts';
import type { Lowering } from './lowering.ts';

/** Adds an operator's calls. Throws `OP_UNSUPPORTED` for what the kernels cannot do. */
export function lowerOp(op: Op, to: Lowering): void {
  switch (op.kind) {
    case 'embed':
      lowerEmbed(op, to);
      break;
    case 'matmul':
      lowerMatmul(op, to);
      break;
    case 'add':
    case 'mul':
      lowerBinary(op, to);
      break;
    case 'scale':
      lowerScale(op, to);
      break;
    case 'unary':
      lowerUnary(op, to);
      break;
    case 'gated':
      lowerGated(op, to);
      break;
    case 'slice':
      lowerSlice(op, to);
      break;
    case 'rmsNorm':
      lowerRmsNorm(op, to);
      break;
    case 'layerNorm':
      lowerLayerNorm(op, to);
      break;
    case 'ropeTable':
      lowerRopeTable(op, to);
      break;
    case 'rope':
      lowerRope(op, to);
      break;
    case 'tokenAppend':
      lowerTokenAppend(op, to);
      break;
    case 'kvAppend':
      lowerKvAppend(op, to);
      break;
    case 'attention':
      lowerAttention(op, to);
      break;
    case 'gatherRows':
      lowerGatherRows(op, to);
      break;
    case 'sample':
      lowerSample(op, to);
      break;
  }
}
