import { applyByKind, type KindTable } from '../base/kind-table.ts';
import type { AttentionOp, KvAppendOp } from './attention.ts';
import { attentionCost, attentionOperands, kvAppendCost } from './attention.ts';
import { type ChoosePositionsOp, choosePositionsCost } from './choose-positions.ts';
import { type CausalConvOp, causalConvCost } from './causal-conv.ts';
import {
  type CellPlacesOp,
  cellPlacesCost,
  type CompressCellsOp,
  compressCellsCost,
  type JoinCellsOp,
  joinCellsCost,
} from './compressed-cells.ts';
import { type AllGatherOp, type AllReduceOp, collectiveCost } from './collectives.ts';
import { type ConcatOp, concatCost } from './concat.ts';
import type { Cost, CostContext } from './cost.ts';
import type { BinaryOp, ClampOp, GatedOp, ScaleOp, UnaryOp } from './elementwise.ts';
import { elementwiseCost } from './elementwise.ts';
import { type EmbedOp, embedCost } from './embed.ts';
import { type CombineExpertsOp, combineExpertsCost } from './experts/combine-experts.ts';
import { type MatmulExpertsOp, matmulExpertsCost } from './experts/matmul-experts.ts';
import { type RouteExpertsOp, routeExpertsCost } from './experts/route-experts.ts';
import { type ScaleExpertsOp, scaleExpertsCost } from './experts/scale-experts.ts';
import { type GatedDeltaOp, gatedDeltaCost } from './gated-delta.ts';
import { type GaussianTopKOp, gaussianTopKCost } from './gaussian-top-k.ts';
import { type IndexScoresOp, indexScoresCost } from './index-scores.ts';
import { type HadamardOp, hadamardCost } from './hadamard.ts';
import { type GroupNormOp, groupNormCost, type L2NormOp } from './group-norm.ts';
import { type LerpOp, lerpCost } from './lerp.ts';
import { type MatmulOp, matmulCost } from './matmul.ts';
import { type MatmulHeadsOp, matmulHeadsCost } from './matmul-heads.ts';
import type { LayerNormOp, RmsNormOp } from './norm.ts';
import { normCost } from './norm.ts';
import type { RopeOp, RopeTableOp } from './rope.ts';
import { ropeCost } from './rope.ts';
import type { GatherRowsOp, TokenAppendOp } from './rows.ts';
import { gatherRowsCost } from './rows.ts';
import { type SampleOp, sampleCost } from './sample.ts';
import { type SelectiveScanOp, selectiveScanCost } from './selective-scan.ts';
import { type SliceOp, sliceCost } from './slice.ts';
import { type StreamSharesOp, streamSharesCost } from './stream-shares.ts';
import { type TokenShiftOp, tokenShiftCost } from './token-shift.ts';
import type { Tensor, Value } from './value.ts';
import { type Wkv7Op, type WkvBonusOp, wkv7Cost, wkvBonusCost } from './wkv7.ts';

/** The closed list of operators. A device has an `OpTable` of them; the compiler reports a missing one. */
export type Op =
  | EmbedOp
  | MatmulOp
  | MatmulHeadsOp
  | RouteExpertsOp
  | MatmulExpertsOp
  | ScaleExpertsOp
  | CombineExpertsOp
  | BinaryOp
  | ScaleOp
  | ClampOp
  | UnaryOp
  | GatedOp
  | SliceOp
  | ConcatOp
  | LerpOp
  | RmsNormOp
  | LayerNormOp
  | GroupNormOp
  | L2NormOp
  | GaussianTopKOp
  | HadamardOp
  | RopeTableOp
  | RopeOp
  | TokenAppendOp
  | KvAppendOp
  | AttentionOp
  | TokenShiftOp
  | Wkv7Op
  | WkvBonusOp
  | CausalConvOp
  | GatedDeltaOp
  | SelectiveScanOp
  | IndexScoresOp
  | ChoosePositionsOp
  | CellPlacesOp
  | CompressCellsOp
  | JoinCellsOp
  | StreamSharesOp
  | AllReduceOp
  | AllGatherOp
  | GatherRowsOp
  | SampleOp;

/** The name of an operator. */
export type OpKind = Op['kind'];

/** A function for each kind of operator, given a `Scope`. */
export type OpTable<Scope, Result = void> = KindTable<Op, [Scope], Result>;

const COSTS: KindTable<Op, [rows: number, context: CostContext], Cost> = {
  embed: embedCost,
  matmul: matmulCost,
  matmulHeads: matmulHeadsCost,
  routeExperts: routeExpertsCost,
  matmulExperts: matmulExpertsCost,
  scaleExperts: scaleExpertsCost,
  combineExperts: combineExpertsCost,
  add: elementwiseCost,
  mul: elementwiseCost,
  scale: elementwiseCost,
  clamp: elementwiseCost,
  unary: elementwiseCost,
  gated: elementwiseCost,
  slice: sliceCost,
  concat: concatCost,
  lerp: lerpCost,
  rmsNorm: normCost,
  layerNorm: normCost,
  groupNorm: groupNormCost,
  l2Norm: groupNormCost,
  gaussianTopK: gaussianTopKCost,
  hadamard: hadamardCost,
  ropeTable: ropeCost,
  rope: ropeCost,
  tokenAppend: (_, rows) => ({ bytes: 12 * rows, flops: 0 }),
  kvAppend: kvAppendCost,
  attention: (op, rows, { attended }) => attentionCost(op, rows, attended),
  tokenShift: tokenShiftCost,
  wkv7: wkv7Cost,
  wkvBonus: wkvBonusCost,
  causalConv: causalConvCost,
  gatedDelta: gatedDeltaCost,
  selectiveScan: selectiveScanCost,
  indexScores: (op, rows, { attended }) => indexScoresCost(op, rows, attended),
  choosePositions: choosePositionsCost,
  cellPlaces: cellPlacesCost,
  compressCells: compressCellsCost,
  joinCells: joinCellsCost,
  streamShares: streamSharesCost,
  allReduce: collectiveCost,
  allGather: collectiveCost,
  gatherRows: (op, _, { outputs }) => gatherRowsCost(op, outputs),
  sample: (op, _, { outputs }) => sampleCost(op, outputs),
};

/** A lower bound of what an operator moves and computes for a batch. */
export function costOf(op: Op, context: CostContext): Cost {
  const rows = 'out' in op && op.out.axis === 'outputs' ? context.outputs : context.rows;
  return applyByKind(COSTS, op, rows, context);
}

const OPERANDS: KindTable<Op, [], readonly (Value | undefined)[]> = {
  embed: ({ ids, table }) => [ids, table],
  matmul: ({ x, weight, bias }) => [x, weight, bias],
  matmulHeads: ({ x, weight }) => [x, weight],
  routeExperts: ({ logits, bias, chosen, uses }) => [logits, bias, chosen, uses],
  matmulExperts: ({ x, expertIds, weight, bias, hot }) => [
    x,
    expertIds,
    weight,
    bias,
    hot?.weight,
    hot?.slots,
  ],
  scaleExperts: ({ x, expertIds, scales }) => [x, expertIds, scales],
  combineExperts: ({ x, routingWeights }) => [x, routingWeights],
  add: ({ a, b }) => [a, b],
  mul: ({ a, b }) => [a, b],
  scale: ({ x }) => [x],
  clamp: ({ x }) => [x],
  unary: ({ x }) => [x],
  gated: ({ gate, up }) => [gate, up],
  slice: ({ x }) => [x],
  concat: ({ a, b }) => [a, b],
  lerp: ({ a, b, t }) => [a, b, t],
  rmsNorm: ({ x, weight }) => [x, weight],
  layerNorm: ({ x, weight, bias }) => [x, weight, bias],
  groupNorm: ({ x, weight, bias }) => [x, weight, bias],
  l2Norm: ({ x }) => [x],
  gaussianTopK: ({ x }) => [x],
  hadamard: ({ x }) => [x],
  ropeTable: ({ positions, factors }) => [positions, factors],
  rope: ({ x, table }) => [x, table],
  tokenAppend: ({ history, tokens }) => [history, tokens],
  kvAppend: ({ k, v, cache, batch }) => [k, v, cache.keys, cache.values, cache.blocks, made(batch.positions)],
  attention: attentionOperands,
  tokenShift: ({ x, last }) => [x, last],
  wkv7: ({ r, w, k, v, kk, a, state }) => [r, w, k, v, kk, a, state],
  wkvBonus: ({ r, k, v, weight }) => [r, k, v, weight],
  causalConv: ({ x, weight, bias, last }) => [x, weight, bias, last],
  gatedDelta: ({ q, k, v, decay, beta, state }) => [q, k, v, decay, beta, state],
  selectiveScan: ({ x, dt, b, c, a, d, decay, state }) => [x, dt, b, c, a, d, decay, state],
  indexScores: ({ q, weights, cache, batch }) => [
    q,
    weights,
    cache.keys,
    cache.blocks,
    made(batch.positions),
  ],
  choosePositions: ({ scores, cache, batch }) => [scores, cache.blocks, made(batch.positions)],
  cellPlaces: () => [],
  compressCells: ({ cache, bias }) => [cache.keys, cache.values, cache.blocks, bias],
  joinCells: ({ chosen, batch }) => [chosen, batch.blocks],
  streamShares: ({ mixes, scale, base }) => [mixes, scale, base],
  allReduce: ({ x }) => [x],
  allGather: ({ x }) => [x],
  gatherRows: ({ x }) => [x],
  sample: ({ logits, parameters, history, masks }) => [logits, parameters, history, masks],
};

/** An index tensor that an operator of the graph has computed, in place of the batch's. */
function made(index: Tensor): Tensor | undefined {
  return index.role === 'temp' ? index : undefined;
}

/** Everything an operator reads, in a fixed order, without the batch's index tensors except block tables. */
export function operandsOf(op: Op): readonly Value[] {
  return applyByKind(OPERANDS, op).filter((operand) => operand !== undefined);
}

/** The tensors an operator computes. */
export function resultsOf(op: Op): readonly Tensor[] {
  if (op.kind === 'sample') return [op.tokens, op.report];
  if (op.kind === 'routeExperts') return [op.expertIds, op.routingWeights];
  if (op.kind === 'choosePositions' || op.kind === 'joinCells') return [op.cells, op.places, op.limits];
  if (op.kind === 'cellPlaces') return [op.own, op.cell, op.index, op.last, op.start];
  return 'out' in op ? [op.out] : [];
}
