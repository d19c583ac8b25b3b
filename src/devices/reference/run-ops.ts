import { refuseCollective } from '../../device/index.ts';
import type { OpTable } from '../../ops/index.ts';
import type { Frame } from './frame.ts';
import { runAttention } from './ops/attention.ts';
import { runBinary } from './ops/binary.ts';
import { runCausalConv } from './ops/causal-conv.ts';
import { runCellPlaces, runCompressCells, runJoinCells, runStreamShares } from './ops/compressed-cells.ts';
import { runConcat } from './ops/concat.ts';
import { runEmbed } from './ops/embed.ts';
import { runCombineExperts, runMatmulExperts, runRouteExperts, runScaleExperts } from './ops/experts.ts';
import { runGated } from './ops/gated.ts';
import { runGatedDelta } from './ops/gated-delta.ts';
import { runGatherRows } from './ops/gather-rows.ts';
import { runGaussianTopK } from './ops/gaussian-top-k.ts';
import { runGroupNorm, runL2Norm } from './ops/group-norm.ts';
import { runHadamard } from './ops/hadamard.ts';
import { runKvAppend } from './ops/kv-append.ts';
import { runLayerNorm } from './ops/layer-norm.ts';
import { runLerp } from './ops/lerp.ts';
import { runMatmul, runMatmulHeads } from './ops/matmul.ts';
import { runRmsNorm } from './ops/rms-norm.ts';
import { runRope } from './ops/rope.ts';
import { runRopeTable } from './ops/rope-table.ts';
import { runSample } from './ops/sample.ts';
import { runChoosePositions } from './ops/choose-positions.ts';
import { runIndexScores } from './ops/index-scores.ts';
import { runClamp, runScale } from './ops/scale.ts';
import { runSelectiveScan } from './ops/selective-scan.ts';
import { runSlice } from './ops/slice.ts';
import { runTokenAppend } from './ops/token-append.ts';
import { runTokenShift } from './ops/token-shift.ts';
import { runUnary } from './ops/unary.ts';
import { runWkv7, runWkvBonus } from './ops/wkv7.ts';

/** Computes each operator row by row, as its formula defines. */
export const RUN_OPS: OpTable<Frame> = {
  embed: runEmbed,
  matmul: runMatmul,
  matmulHeads: runMatmulHeads,
  routeExperts: runRouteExperts,
  matmulExperts: runMatmulExperts,
  scaleExperts: runScaleExperts,
  combineExperts: runCombineExperts,
  add: runBinary,
  mul: runBinary,
  scale: runScale,
  clamp: runClamp,
  unary: runUnary,
  gated: runGated,
  slice: runSlice,
  concat: runConcat,
  lerp: runLerp,
  rmsNorm: runRmsNorm,
  layerNorm: runLayerNorm,
  groupNorm: runGroupNorm,
  l2Norm: runL2Norm,
  gaussianTopK: runGaussianTopK,
  hadamard: runHadamard,
  ropeTable: runRopeTable,
  rope: runRope,
  tokenAppend: runTokenAppend,
  kvAppend: runKvAppend,
  attention: runAttention,
  tokenShift: runTokenShift,
  wkv7: runWkv7,
  wkvBonus: runWkvBonus,
  causalConv: runCausalConv,
  gatedDelta: runGatedDelta,
  selectiveScan: runSelectiveScan,
  indexScores: runIndexScores,
  choosePositions: runChoosePositions,
  cellPlaces: runCellPlaces,
  compressCells: runCompressCells,
  joinCells: runJoinCells,
  streamShares: runStreamShares,
  allReduce: (op) => refuseCollective('reference', op),
  allGather: (op) => refuseCollective('reference', op),
  gatherRows: runGatherRows,
  sample: runSample,
};
