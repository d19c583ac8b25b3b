import { applyByKind, type KindTable } from '../../../base/kind-table.ts';
import type { CallTable } from '../protocol/call-table.ts';
import type { BankInstance } from './bank-instance.ts';
import { attentionCall, cacheAppendCall } from './calls/attention.ts';
import {
  cellPlacesCall,
  compressCellsCall,
  joinCellsCall,
  streamSharesCall,
} from './calls/compressed-cells.ts';
import { binaryCall, clampCall, gatedCall, scaleCall, unaryCall } from './calls/elementwise.ts';
import { combineExpertsCall, routeExpertsCall, scaleExpertsCall } from './calls/experts.ts';
import { matmulExpertsCall, matmulHeadsCall } from './calls/matrices.ts';
import { matmulCall, quantizeCall } from './calls/matmul.ts';
import {
  gaussianTopKCall,
  groupNormCall,
  hadamardCall,
  l2NormCall,
  layerNormCall,
  rmsNormCall,
  ropeCall,
} from './calls/norm.ts';
import { lerpCall, tokenShiftCall, wkv7Call, wkvBonusCall } from './calls/recurrence.ts';
import {
  concatCall,
  embedCall,
  gatherCall,
  ropeTableCall,
  sliceCall,
  stageCall,
  tokenAppendCall,
} from './calls/rows.ts';
import { sampleCall } from './calls/sample.ts';
import { choosePositionsCall, indexScoresCall } from './calls/sparse-attention.ts';
import { causalConvCall, gatedDeltaCall, selectiveScanCall } from './calls/state-space.ts';
import type { CallPlace, KernelCall } from './task.ts';

/** How each kind of call is resolved. */
const BUILDERS: KindTable<CallTable, [bank: BankInstance, capacity: number, place: CallPlace], KernelCall> = {
  embed: embedCall,
  quantize: quantizeCall,
  matmul: matmulCall,
  matmulHeads: matmulHeadsCall,
  routeExperts: routeExpertsCall,
  matmulExperts: matmulExpertsCall,
  scaleExperts: scaleExpertsCall,
  combineExperts: combineExpertsCall,
  add: binaryCall,
  mul: binaryCall,
  scale: scaleCall,
  clamp: clampCall,
  unary: unaryCall,
  gated: gatedCall,
  rmsNorm: rmsNormCall,
  layerNorm: layerNormCall,
  groupNorm: groupNormCall,
  l2Norm: l2NormCall,
  gaussianTopK: gaussianTopKCall,
  hadamard: hadamardCall,
  lerp: lerpCall,
  tokenShift: tokenShiftCall,
  wkv7: wkv7Call,
  wkvBonus: wkvBonusCall,
  causalConv: causalConvCall,
  gatedDelta: gatedDeltaCall,
  selectiveScan: selectiveScanCall,
  indexScores: indexScoresCall,
  choosePositions: choosePositionsCall,
  cellPlaces: cellPlacesCall,
  compressCells: compressCellsCall,
  joinCells: joinCellsCall,
  streamShares: streamSharesCall,
  ropeTable: ropeTableCall,
  rope: ropeCall,
  tokenAppend: tokenAppendCall,
  cacheAppend: cacheAppendCall,
  attention: attentionCall,
  gatherRows: gatherCall,
  slice: sliceCall,
  concat: concatCall,
  sample: sampleCall,
  stage: (call, bank, capacity, { banks }) => stageCall(call, banks(call.source.bank), bank, capacity),
};

/** Resolves everything that a call needs, once. */
export function buildCall(call: CallTable, place: CallPlace): KernelCall {
  return applyByKind(BUILDERS, call, place.bank, place.capacity[place.axis], place);
}
