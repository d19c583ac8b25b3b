import type { AttentionOp, KvAppendOp } from './attention.ts';
import { attentionCost, kvAppendCost } from './attention.ts';
import type { Cost, CostContext } from './cost.ts';
import type { BinaryOp, GatedOp, ScaleOp, UnaryOp } from './elementwise.ts';
import { elementwiseCost } from './elementwise.ts';
import { type EmbedOp, embedCost } from './embed.ts';
import { type CombineExpertsOp, combineExpertsCost } from './experts/combine-experts.ts';
import { type MatmulExpertsOp, matmulExpertsCost } from './experts/matmul-experts.ts';
import { type RouteExpertsOp, routeExpertsCost } from './experts/route-experts.ts';
import { type GroupNormOp, groupNormCost, type L2NormOp } from './group-norm.ts';
import { type LerpOp, lerpCost } from './lerp.ts';
import { type MatmulOp, matmulCost } from './matmul.ts';
import type { LayerNormOp, RmsNormOp } from './norm.ts';
import { normCost } from './norm.ts';
import type { RopeOp, RopeTableOp } from './rope.ts';
import { ropeCost } from './rope.ts';
import type { GatherRowsOp, TokenAppendOp } from './rows.ts';
import { gatherRowsCost } from './rows.ts';
import { type SampleOp, sampleCost } from './sample.ts';
import { type SliceOp, sliceCost } from './slice.ts';
import { type TokenShiftOp, tokenShiftCost } from './token-shift.ts';
import type { Tensor, Value } from './value.ts';
import { type Wkv7Op, type WkvBonusOp, wkv7Cost, wkvBonusCost } from './wkv7.ts';

/** The closed list of operators. A device has an `OpTable` of them; the compiler says which one it lacks. */
export type Op =
  | EmbedOp
  | MatmulOp
  | RouteExpertsOp
  | MatmulExpertsOp
  | CombineExpertsOp
  | BinaryOp
  | ScaleOp
  | UnaryOp
  | GatedOp
  | SliceOp
  | LerpOp
  | RmsNormOp
  | LayerNormOp
  | GroupNormOp
  | L2NormOp
  | RopeTableOp
  | RopeOp
  | TokenAppendOp
  | KvAppendOp
  | AttentionOp
  | TokenShiftOp
  | Wkv7Op
  | WkvBonusOp
  | GatherRowsOp
  | SampleOp;

/** The name of an operator. */
export type OpKind = Op['kind'];

/** The least that an operator moves and computes for a batch. */
export function costOf(op: Op, context: CostContext): Cost {
  const rows = 'out' in op && op.out.axis === 'outputs' ? context.outputs : context.rows;
  switch (op.kind) {
    case 'embed':
      return embedCost(op, rows);
    case 'matmul':
      return matmulCost(op, rows);
    case 'routeExperts':
      return routeExpertsCost(op, rows);
    case 'matmulExperts':
      return matmulExpertsCost(op, rows);
    case 'combineExperts':
      return combineExpertsCost(op, rows);
    case 'add':
    case 'mul':
    case 'scale':
    case 'unary':
    case 'gated':
      return elementwiseCost(op, rows);
    case 'slice':
      return sliceCost(op, rows);
    case 'lerp':
      return lerpCost(op, rows);
    case 'groupNorm':
    case 'l2Norm':
      return groupNormCost(op, rows);
    case 'tokenShift':
      return tokenShiftCost(op, rows);
    case 'wkv7':
      return wkv7Cost(op, rows);
    case 'wkvBonus':
      return wkvBonusCost(op, rows);
    case 'rmsNorm':
    case 'layerNorm':
      return normCost(op, rows);
    case 'ropeTable':
    case 'rope':
      return ropeCost(op, rows);
    case 'tokenAppend':
      return { bytes: 12 * rows, flops: 0 };
    case 'kvAppend':
      return kvAppendCost(op, rows);
    case 'attention':
      return attentionCost(op, rows, context.attended);
    case 'gatherRows':
      return gatherRowsCost(op, context.outputs);
    case 'sample':
      return sampleCost(op, context.outputs);
  }
}

/** Everything an operator reads, in a fixed order; index tensors of the batch left out. */
export function operandsOf(op: Op): readonly Value[] {
  switch (op.kind) {
    case 'embed':
      return [op.ids, op.table];
    case 'matmul':
      return op.bias ? [op.x, op.weight, op.bias] : [op.x, op.weight];
    case 'routeExperts':
      return op.bias ? [op.logits, op.bias] : [op.logits];
    case 'matmulExperts':
      return [op.x, op.experts, op.weight];
    case 'combineExperts':
      return [op.x, op.shares];
    case 'add':
    case 'mul':
      return [op.a, op.b];
    case 'scale':
    case 'unary':
    case 'slice':
    case 'l2Norm':
      return [op.x];
    case 'lerp':
      return [op.a, op.b, op.t];
    case 'groupNorm':
      return [op.x, op.weight, op.bias];
    case 'tokenShift':
      return [op.x, op.last];
    case 'wkv7':
      return [op.r, op.w, op.k, op.v, op.kk, op.a, op.state];
    case 'wkvBonus':
      return [op.r, op.k, op.v, op.weight];
    case 'gated':
      return [op.gate, op.up];
    case 'rmsNorm':
      return [op.x, op.weight];
    case 'layerNorm':
      return op.bias ? [op.x, op.weight, op.bias] : [op.x, op.weight];
    case 'ropeTable':
      return op.factors ? [op.positions, op.factors] : [op.positions];
    case 'rope':
      return [op.x, op.table];
    case 'tokenAppend':
      return [op.history, op.tokens];
    case 'kvAppend':
      return [op.k, op.v, op.cache.keys, op.cache.values];
    case 'attention':
      return [op.q, op.reach, op.cache.keys, op.cache.values];
    case 'gatherRows':
      return [op.x];
    case 'sample':
      return [op.logits, op.parameters, op.history, op.masks];
  }
}

/** The tensors an operator computes. */
export function resultsOf(op: Op): readonly Tensor[] {
  if (op.kind === 'sample') return [op.tokens, op.report];
  if (op.kind === 'routeExperts') return [op.experts, op.shares];
  return 'out' in op ? [op.out] : [];
}
