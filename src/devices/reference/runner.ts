import type { Op } from '../../ops/index.ts';
import type { Frame } from './frame.ts';
import { runAttention } from './ops/attention.ts';
import { runBinary } from './ops/binary.ts';
import { runEmbed } from './ops/embed.ts';
import { runCombineExperts, runMatmulExperts, runRouteExperts } from './ops/experts.ts';
import { runGated } from './ops/gated.ts';
import { runGatherRows } from './ops/gather-rows.ts';
import { runGroupNorm, runL2Norm } from './ops/group-norm.ts';
import { runKvAppend } from './ops/kv-append.ts';
import { runLayerNorm } from './ops/layer-norm.ts';
import { runLerp } from './ops/lerp.ts';
import { runMatmul } from './ops/matmul.ts';
import { runRmsNorm } from './ops/rms-norm.ts';
import { runRope } from './ops/rope.ts';
import { runRopeTable } from './ops/rope-table.ts';
import { runSample } from './ops/sample.ts';
import { runScale } from './ops/scale.ts';
import { runSlice } from './ops/slice.ts';
import { runTokenAppend } from './ops/token-append.ts';
import { runTokenShift } from './ops/token-shift.ts';
import { runUnary } from './ops/unary.ts';
import { runWkv7, runWkvBonus } from './ops/wkv7.ts';

/** What computes an operator, row after row, as its formula says. */
export function runnerOf(op: Op): (frame: Frame) => void {
  switch (op.kind) {
    case 'embed':
      return (frame) => runEmbed(op, frame);
    case 'matmul':
      return (frame) => runMatmul(op, frame);
    case 'routeExperts':
      return (frame) => runRouteExperts(op, frame);
    case 'matmulExperts':
      return (frame) => runMatmulExperts(op, frame);
    case 'combineExperts':
      return (frame) => runCombineExperts(op, frame);
    case 'add':
    case 'mul':
      return (frame) => runBinary(op, frame);
    case 'scale':
      return (frame) => runScale(op, frame);
    case 'unary':
      return (frame) => runUnary(op, frame);
    case 'gated':
      return (frame) => runGated(op, frame);
    case 'slice':
      return (frame) => runSlice(op, frame);
    case 'lerp':
      return (frame) => runLerp(op, frame);
    case 'groupNorm':
      return (frame) => runGroupNorm(op, frame);
    case 'l2Norm':
      return (frame) => runL2Norm(op, frame);
    case 'tokenShift':
      return (frame) => runTokenShift(op, frame);
    case 'wkv7':
      return (frame) => runWkv7(op, frame);
    case 'wkvBonus':
      return (frame) => runWkvBonus(op, frame);
    case 'rmsNorm':
      return (frame) => runRmsNorm(op, frame);
    case 'layerNorm':
      return (frame) => runLayerNorm(op, frame);
    case 'ropeTable':
      return (frame) => runRopeTable(op, frame);
    case 'rope':
      return (frame) => runRope(op, frame);
    case 'tokenAppend':
      return (frame) => runTokenAppend(op, frame);
    case 'kvAppend':
      return (frame) => runKvAppend(op, frame);
    case 'attention':
      return (frame) => runAttention(op, frame);
    case 'gatherRows':
      return (frame) => runGatherRows(op, frame);
    case 'sample':
      return (frame) => runSample(op, frame);
  }
}
