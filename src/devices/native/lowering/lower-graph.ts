import type { Op, OpGraph } from '../../../ops/index.ts';
import type { NativeTarget } from '../launching/kernel-set.ts';
import { lowerAttention, lowerKvAppend } from './attention.ts';
import { lowerBinary, lowerGated, lowerScale, lowerUnary } from './elementwise.ts';
import { planFusions } from './fusion/fusions.ts';
import type { LoweredProgram } from './lowered-program.ts';
import { Lowering } from './lowering.ts';
import { lowerMatmul } from './matmul.ts';
import { lowerLayerNorm, lowerRmsNorm } from './norm.ts';
import { lowerRope, lowerRopeTable } from './rope.ts';
import { lowerEmbed, lowerGatherRows, lowerTokenAppend } from './rows.ts';
import { lowerSample } from './sample.ts';

/** Turns a recorded graph into kernel launches. Throws `OP_UNSUPPORTED` for what no kernel can do. */
export function lowerGraph(graph: OpGraph, target: NativeTarget): LoweredProgram {
  const to = new Lowering(graph, target);
  const fusions = planFusions(graph, to);
  for (const op of graph.ops) {
    const fused = fusions.get(op);
    if (!fused) lowerOp(op, to);
    else for (const fusion of fused) fusion.emit(to);
  }
  return to.finish();
}

/** Adds the launches of one operator by itself. */
function lowerOp(op: Op, to: Lowering): void {
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
