import { applyByKind, type KindTable } from '../../../base/kind-table.ts';
import { type IntentWithout, planGraph, refuseCollective, refuseHotExperts } from '../../../device/index.ts';
import type { OpGraph } from '../../../ops/index.ts';
import type { GpuTarget } from '../gpu-target.ts';
import { emitAttention, lowerKvAppend } from './attention.ts';
import { emitAttentionTiles } from './attention-tiles.ts';
import { emitConvert } from './convert.ts';
import {
  lowerCellPlaces,
  lowerCompressCells,
  lowerJoinCells,
  lowerStreamShares,
} from './compressed-cells.ts';
import { lowerBinary, lowerClamp, lowerGated, lowerScale, lowerUnary } from './elementwise.ts';
import { emitElementChain, emitElementProducts } from './element-products.ts';
import { emitAddedExperts, emitExpertProduct, emitGatedExperts, emitHeadProduct } from './expert-matvec.ts';
import { emitCombineResidual, lowerCombineExperts, lowerRouteExperts, lowerScaleExperts } from './experts.ts';
import { type LackedIntent, webgpuFacts } from './facts.ts';
import { emitHeadsAppend } from './heads.ts';
import { emitHeadsNormAppend } from './heads-norm-append.ts';
import type { LoweredProgram } from './lowered-program.ts';
import { Lowering } from './lowering.ts';
import { emitMatvec } from './matvec.ts';
import { emitShiftLerps } from './shift-lerps.ts';
import { emitNormResidual, lowerGaussianTopK, lowerLayerNorm, lowerRmsNorm } from './norm.ts';
import { emitProduct } from './product.ts';
import {
  lowerConcat,
  lowerGroupNorm,
  lowerHadamard,
  lowerL2Norm,
  lowerLerp,
  lowerSlice,
  lowerTokenShift,
  lowerWkvBonus,
} from './recurrence.ts';
import { lowerRope, lowerRopeTable } from './rope.ts';
import { lowerEmbed, lowerGatherRows, lowerTokenAppend } from './rows.ts';
import { lowerSample } from './sample.ts';
import { lowerChoosePositions, lowerIndexScores } from './sparse-attention.ts';
import { lowerCausalConv, lowerGatedDelta, lowerSelectiveScan } from './state-space.ts';
import { emitFusedWkv7, emitWkv7 } from './wkv7.ts';

const EMITTERS: KindTable<IntentWithout<LackedIntent>, [Lowering], void> = {
  convert: emitConvert,
  matvec: emitMatvec,
  product: emitProduct,
  headsAppend: emitHeadsAppend,
  headsNormAppend: emitHeadsNormAppend,
  attention: emitAttention,
  attentionTiles: emitAttentionTiles,
  expertProduct: emitExpertProduct,
  headProduct: emitHeadProduct,
  gatedExperts: emitGatedExperts,
  addedExperts: emitAddedExperts,
  combineResidual: emitCombineResidual,
  normResidual: emitNormResidual,
  elementProducts: emitElementProducts,
  elementChain: emitElementChain,
  shiftLerps: emitShiftLerps,
  wkv7: emitWkv7,
  fusedWkv7: emitFusedWkv7,
  embed: lowerEmbed,
  routeExperts: lowerRouteExperts,
  scaleExperts: lowerScaleExperts,
  combineExperts: lowerCombineExperts,
  add: lowerBinary,
  mul: lowerBinary,
  scale: lowerScale,
  clamp: lowerClamp,
  unary: lowerUnary,
  gated: lowerGated,
  slice: lowerSlice,
  concat: lowerConcat,
  lerp: lowerLerp,
  rmsNorm: lowerRmsNorm,
  layerNorm: lowerLayerNorm,
  groupNorm: lowerGroupNorm,
  l2Norm: lowerL2Norm,
  gaussianTopK: lowerGaussianTopK,
  hadamard: lowerHadamard,
  ropeTable: lowerRopeTable,
  rope: lowerRope,
  tokenAppend: lowerTokenAppend,
  kvAppend: lowerKvAppend,
  tokenShift: lowerTokenShift,
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
  allReduce: (op) => refuseCollective('webgpu', op),
  allGather: (op) => refuseCollective('webgpu', op),
  gatherRows: lowerGatherRows,
  sample: lowerSample,
};

/** Lowers a recorded graph to dispatches. Throws `OP_UNSUPPORTED` for what no kernel supports. */
export function lowerGraph(graph: OpGraph, target: GpuTarget): LoweredProgram {
  refuseHotExperts('webgpu', graph);
  const to = new Lowering(graph, target);
  for (const intent of planGraph(graph, webgpuFacts(target))) applyByKind(EMITTERS, intent, to);
  return to.finish();
}
