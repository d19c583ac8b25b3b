import type { OpTable } from '../../../ops/index.ts';
import { lowerAttention, lowerKvAppend } from './attention.ts';
import { lowerBinary, lowerGated, lowerScale, lowerUnary } from './elementwise.ts';
import { lowerEmbed } from './embed.ts';
import { lowerCombineExperts, lowerMatmulExperts, lowerRouteExperts, lowerScaleExperts } from './experts.ts';
import { lowerMatmul } from './matmul.ts';
import { lowerGroupNorm, lowerL2Norm, lowerLayerNorm, lowerRmsNorm } from './norm.ts';
import { lowerLerp, lowerTokenShift, lowerWkv7, lowerWkvBonus } from './recurrence.ts';
import { lowerRope, lowerRopeTable } from './rope.ts';
import { lowerGatherRows, lowerSlice, lowerTokenAppend } from './rows.ts';
import { lowerSample } from './sample.ts';
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
