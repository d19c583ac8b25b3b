import type { OpTable } from '../../../ops/index.ts';
import { lowerAttention, lowerKvAppend } from '../lowering/attention.ts';
import { lowerBinary, lowerGated, lowerScale, lowerUnary } from '../lowering/elementwise.ts';
import { lowerEmbed } from '../lowering/embed.ts';
import {
  lowerCombineExperts,
  lowerMatmulExperts,
  lowerRouteExperts,
  lowerScaleExperts,
} from '../lowering/experts.ts';
import { lowerMatmul } from '../lowering/matmul.ts';
import { lowerGroupNorm, lowerL2Norm, lowerLayerNorm, lowerRmsNorm } from '../lowering/norm.ts';
import { lowerLerp, lowerTokenShift, lowerWkv7, lowerWkvBonus } from '../lowering/recurrence.ts';
import { lowerRope, lowerRopeTable } from '../lowering/rope.ts';
import { lowerGatherRows, lowerSlice, lowerTokenAppend } from '../lowering/rows.ts';
import { lowerSample } from '../lowering/sample.ts';
import type { Lowering } from './lowering.ts';

/** Adds an operator's calls. Throws `OP_UNSUPPORTED` for what the kernels cannot do. */
export const LOWER_OPS: OpTable<Lowering> = {
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
};
