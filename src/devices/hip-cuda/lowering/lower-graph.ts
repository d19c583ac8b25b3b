import { applyByKind, type KindTable } from '../../../base/kind-table.ts';
import { type Intent, planGraph } from '../../../device/index.ts';
import type { OpGraph } from '../../../ops/index.ts';
import type { HipCudaTarget } from '../launching/kernel-set.ts';
import { emitAttention, lowerKvAppend } from './attention.ts';
import { emitAttentionTiles } from './attention-tiles.ts';
import { emitPushedSum, emitReduceResidual, lowerAllGather, lowerAllReduce } from './collectives.ts';
import { emitConvert, emitRound, emitSplitHalves } from './convert.ts';
import { emitElementChain, emitElementProducts } from './element-products.ts';
import {
  lowerCellPlaces,
  lowerCompressCells,
  lowerJoinCells,
  lowerStreamShares,
} from './compressed-cells.ts';
import { lowerBinary, lowerClamp, lowerGated, lowerScale, lowerUnary } from './elementwise.ts';
import {
  emitAddedExperts,
  emitCombineResidual,
  emitExpertProduct,
  emitGatedExperts,
  emitHeadProduct,
  lowerCombineExperts,
  lowerRouteExperts,
  lowerScaleExperts,
} from './experts.ts';
import { hipCudaFacts } from './facts.ts';
import { emitHeadsAppend, emitHeadsNormAppend } from './heads.ts';
import { emitLibraryProduct, emitRoundedProduct } from './library-product.ts';
import type { LoweredProgram } from './lowered-program.ts';
import { Lowering } from './lowering.ts';
import { emitMatvec, emitMatvecGroup } from './matvec.ts';
import { emitGatedNorm, emitNormResidual, lowerGaussianTopK, lowerLayerNorm, lowerRmsNorm } from './norm.ts';
import { emitProduct } from './product.ts';
import { emitSplitProduct } from './split-product.ts';
import {
  emitShiftLerps,
  lowerGroupNorm,
  lowerHadamard,
  lowerL2Norm,
  lowerLerp,
  lowerTokenShift,
  lowerWkvBonus,
} from './recurrence.ts';
import { lowerRope, lowerRopeTable } from './rope.ts';
import { lowerConcat, lowerEmbed, lowerGatherRows, lowerSlice, lowerTokenAppend } from './rows.ts';
import { lowerSample } from './sample.ts';
import { lowerChoosePositions, lowerIndexScores } from './sparse-attention.ts';
import { emitFusedGatedDelta, lowerGatedDelta } from './gated-delta.ts';
import { lowerCausalConv, lowerSelectiveScan } from './state-space.ts';
import { emitFusedWkv7, emitWkv7 } from './wkv7.ts';

const EMITTERS: KindTable<Intent, [Lowering], void> = {
  convert: emitConvert,
  matvec: emitMatvec,
  matvecGroup: emitMatvecGroup,
  product: emitProduct,
  libraryProduct: emitLibraryProduct,
  round: emitRound,
  roundedProduct: emitRoundedProduct,
  splitHalves: emitSplitHalves,
  splitProduct: emitSplitProduct,
  elementProducts: emitElementProducts,
  elementChain: emitElementChain,
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
  reduceResidual: emitReduceResidual,
  pushedSum: emitPushedSum,
  gatedNorm: emitGatedNorm,
  shiftLerps: emitShiftLerps,
  wkv7: emitWkv7,
  fusedWkv7: emitFusedWkv7,
  fusedGatedDelta: emitFusedGatedDelta,
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
  allReduce: lowerAllReduce,
  allGather: lowerAllGather,
  gatherRows: lowerGatherRows,
  sample: lowerSample,
};

/** Lowers a recorded graph to kernel launches. Throws `OP_UNSUPPORTED` for what no kernel supports. */
export function lowerGraph(graph: OpGraph, target: HipCudaTarget): LoweredProgram {
  const to = new Lowering(graph, target);
  for (const intent of planGraph(graph, hipCudaFacts(target))) applyByKind(EMITTERS, intent, to);
  return to.finish();
}
