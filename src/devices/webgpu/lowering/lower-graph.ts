import { type LoweringRules, lowerOps } from '../../../device/index.ts';
import type { OpGraph } from '../../../ops/index.ts';
import type { GpuTarget } from '../gpu-target.ts';
import { lowerKvAppend } from './attention.ts';
import { lowerAttention } from './attention-tiles.ts';
import { lowerBinary, lowerGated, lowerScale, lowerUnary } from './elementwise.ts';
import { lowerCombineExperts, lowerMatmulExperts, lowerRouteExperts, lowerScaleExperts } from './experts.ts';
import { fuseAttention } from './fusion/fuse-attention.ts';
import { fuseGated } from './fusion/fuse-gated.ts';
import { fuseNorm } from './fusion/fuse-norm.ts';
import { fuseNormedAttention } from './fusion/fuse-normed-attention.ts';
import { fuseNormedResidual } from './fusion/fuse-normed-residual.ts';
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
  fuses: [fuseAttention, fuseNormedAttention, fuseGated, fuseResidual, fuseNormedResidual, fuseNorm],
};

/** Turns a recorded graph into dispatches. Throws `OP_UNSUPPORTED` for what no kernel can do. */
export function lowerGraph(graph: OpGraph, target: GpuTarget): LoweredProgram {
  const to = new Lowering(graph, target);
  lowerOps(to, RULES);
  return to.finish();
}
