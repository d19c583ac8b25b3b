import { refuseCollective } from '../../../device/index.ts';
import type { OpTable } from '../../../ops/index.ts';
import { lowerAttention, lowerKvAppend } from './attention.ts';
import {
  lowerCellPlaces,
  lowerCompressCells,
  lowerJoinCells,
  lowerStreamShares,
} from './compressed-cells.ts';
import { lowerBinary, lowerElement, lowerGated } from './elementwise.ts';
import {
  lowerCombineExperts,
  lowerMatmulExperts,
  lowerMatmulHeads,
  lowerRouteExperts,
  lowerScaleExperts,
} from './experts.ts';
import { lowerMatmul } from './matmul.ts';
import { lowerGroups, lowerRmsNorm, lowerRowNorm } from './norm.ts';
import { lowerLerp, lowerTokenShift, lowerWkv7, lowerWkvBonus } from './recurrence.ts';
import { lowerRope, lowerRopeTable } from './rope.ts';
import {
  lowerConcat,
  lowerEmbed,
  lowerGatherRows,
  lowerSample,
  lowerSlice,
  lowerTokenAppend,
} from './rows.ts';
import { lowerChoosePositions, lowerIndexScores } from './sparse-attention.ts';
import { lowerCausalConv, lowerGatedDelta, lowerSelectiveScan } from './state-space.ts';
import type { Lowering } from './lowering.ts';

/** Adds an operator's calls. Throws `OP_UNSUPPORTED` if the kernels do not support it. */
export const LOWER_OPS: OpTable<Lowering> = {
  embed: lowerEmbed,
  matmul: lowerMatmul,
  matmulHeads: lowerMatmulHeads,
  routeExperts: lowerRouteExperts,
  matmulExperts: lowerMatmulExperts,
  scaleExperts: lowerScaleExperts,
  combineExperts: lowerCombineExperts,
  add: lowerBinary,
  mul: lowerBinary,
  scale: lowerElement,
  clamp: lowerElement,
  unary: lowerElement,
  gated: lowerGated,
  slice: lowerSlice,
  concat: lowerConcat,
  lerp: lowerLerp,
  rmsNorm: lowerRmsNorm,
  layerNorm: lowerRowNorm,
  groupNorm: lowerGroups,
  l2Norm: lowerGroups,
  gaussianTopK: lowerRowNorm,
  hadamard: lowerGroups,
  ropeTable: lowerRopeTable,
  rope: lowerRope,
  tokenAppend: lowerTokenAppend,
  kvAppend: lowerKvAppend,
  attention: lowerAttention,
  tokenShift: lowerTokenShift,
  wkv7: lowerWkv7,
  wkvBonus: lowerWkvBonus,
  causalConv: lowerCausalConv,
  gatedDelta: lowerGatedDelta,
  selectiveScan: lowerSelectiveScan,
  indexScores: lowerIndexScores,
  choosePositions: lowerChoosePositions,
  cellPlaces: lowerCellPlaces,
  compressCells: lowerCompressCells,
  joinCells: lowerJoinCells,
  streamShares: lowerStreamShares,
  allReduce: (op) => refuseCollective('cpu', op),
  allGather: (op) => refuseCollective('cpu', op),
  gatherRows: lowerGatherRows,
  sample: lowerSample,
};
