import type { Axis } from '../../../ops/index.ts';
import type { CallTable } from '../protocol/call-table.ts';
import type { BankInstance } from './bank-instance.ts';
import { attentionCall, cacheAppendCall } from './calls/attention.ts';
import { binaryCall, gatedCall, scaleCall, unaryCall } from './calls/elementwise.ts';
import { embedCall } from './calls/embed.ts';
import { combineExpertsCall, matmulExpertsCall, routeExpertsCall } from './calls/experts.ts';
import { matmulCall, quantizeCall } from './calls/matmul.ts';
import { groupNormCall, l2NormCall, layerNormCall, rmsNormCall, ropeCall } from './calls/norm.ts';
import { lerpCall, tokenShiftCall, wkv7Call, wkvBonusCall } from './calls/recurrence.ts';
import { gatherCall, ropeTableCall, sliceCall, stageCall, tokenAppendCall } from './calls/rows.ts';
import { sampleCall } from './calls/sample.ts';
import type { Call } from './task.ts';

/** Where a call runs. */
export interface CallPlace {
  readonly bank: BankInstance;
  readonly banks: (bank: number) => BankInstance;
  readonly capacity: Readonly<Record<Axis, number>>;
  readonly axis: Axis;
}

/** Looks up everything that a call needs, once. */
export function buildCall(call: CallTable, { bank, banks, capacity, axis }: CallPlace): Call {
  switch (call.kind) {
    case 'embed':
      return embedCall(call, bank, capacity[axis]);
    case 'quantize':
      return quantizeCall(call, bank);
    case 'matmul':
      return matmulCall(call, bank);
    case 'routeExperts':
      return routeExpertsCall(call, bank, capacity[axis]);
    case 'matmulExperts':
      return matmulExpertsCall(call, bank, capacity[axis]);
    case 'combineExperts':
      return combineExpertsCall(call, bank, capacity[axis]);
    case 'add':
    case 'mul':
      return binaryCall(call, bank);
    case 'scale':
      return scaleCall(call, bank);
    case 'unary':
      return unaryCall(call, bank);
    case 'gated':
      return gatedCall(call, bank);
    case 'rmsNorm':
      return rmsNormCall(call, bank);
    case 'layerNorm':
      return layerNormCall(call, bank);
    case 'groupNorm':
      return groupNormCall(call, bank);
    case 'l2Norm':
      return l2NormCall(call, bank, capacity[axis]);
    case 'lerp':
      return lerpCall(call, bank, capacity[axis]);
    case 'tokenShift':
      return tokenShiftCall(call, bank, capacity[axis]);
    case 'wkv7':
      return wkv7Call(call, bank, capacity[axis]);
    case 'wkvBonus':
      return wkvBonusCall(call, bank, capacity[axis]);
    case 'ropeTable':
      return ropeTableCall(call, bank, capacity[axis]);
    case 'rope':
      return ropeCall(call, bank);
    case 'tokenAppend':
      return tokenAppendCall(call, bank, capacity[axis]);
    case 'cacheAppend':
      return cacheAppendCall(call, bank, capacity[axis]);
    case 'attention':
      return attentionCall(call, bank, capacity[axis]);
    case 'gather':
      return gatherCall(call, bank, capacity[axis]);
    case 'slice':
      return sliceCall(call, bank, capacity[axis]);
    case 'sample':
      return sampleCall(call, bank, capacity[axis]);
    case 'stage':
      return stageCall(call, banks(call.source.bank), bank, capacity[axis]);
  }
}
