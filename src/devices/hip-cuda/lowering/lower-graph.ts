import { type LoweringRules, lowerOps } from '../../../device/index.ts';
import type { OpGraph } from '../../../ops/index.ts';
import type { NativeTarget } from '../launching/kernel-set.ts';
import { lowerAttention, lowerKvAppend } from './attention.ts';
import { lowerBinary, lowerGated, lowerScale, lowerUnary } from './elementwise.ts';
import { lowerCombineExperts, lowerMatmulExperts, lowerRouteExperts, lowerScaleExperts } from './experts.ts';
import { FUSES } from './fusion/fuses.ts';
import type { LoweredProgram } from './lowered-program.ts';
import { Lowering } from './lowering.ts';
import { lowerMatmul } from './matmul.ts';
import { lowerLayerNorm, lowerRmsNorm } from './norm.ts';
import { lowerGroupNorm, lowerL2Norm, lowerLerp, lowerTokenShift, lowerWkvBonus } from './recurrence.ts';
import { lowerRope, lowerRopeTable } from './rope.ts';
import { lowerEmbed, lowerGatherRows, lowerSlice, lowerTokenAppend } from './rows.ts';
import { lowerSample } from './sample.ts';
import { lowerWkv7 } from './wkv7.ts';

const RULES: LoweringRules<Lowering> = {
  ops: {
    embed: lowerEmbed,
    matmul: lowerMatmul,
    routeExperts: lowerRouteExperts,
    matmulExperts: lowerMatmulExperts,
    scaleExperts: lowerScaleExperts,
    combineExperts: lowerCombineExperts,
    add: lowerBinary,
    mul: lowerBinary,
    scale: lowerScale,
    unary: lowerUnary,
    gated: lowerGated,
    slice: lowerSlice,
    lerp: lowerLerp,
    rmsNorm: lowerRmsNorm,
    layerNorm: lowerLayerNorm,
    groupNorm: lowerGroupNorm,
    l2Norm: lowerL2Norm,
    ropeTable: lowerRopeTable,
    rope: lowerRope,
    tokenAppend: lowerTokenAppend,
    kvAppend: lowerKvAppend,
    attention: lowerAttention,
    tokenShift: lowerTokenShift,
    wkv7: lowerWkv7,
    wkvBonus: lowerWkvBonus,
    gatherRows: lowerGatherRows,
    sample: lowerSample,
  },
  fuses: FUSES,
};

/** Turns a recorded graph into kernel launches. Throws `OP_UNSUPPORTED` for what no kernel can do. */
export function lowerGraph(graph: OpGraph, target: NativeTarget): LoweredProgram {
  const to = new Lowering(graph, target);
  lowerOps(to, RULES);
  return to.finish();
}
