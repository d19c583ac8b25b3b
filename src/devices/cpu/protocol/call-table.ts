import type { Activation, RopePairs, RopeParameters, RoutingRule } from '../../../ops/index.ts';
import type { CellType } from '../kernel-exports.ts';
import type { BankAddress } from './command.ts';

/** Where the indices of a ragged batch stand. */
interface BatchOperands {
  readonly positions: number;
  readonly slots: number;
}

/** `out[r] = decode(table[ids[r]])`. */
export interface EmbedCall {
  readonly kind: 'embed';
  readonly at: { readonly ids: number; readonly table: number; readonly out: number };
  readonly ggmlType: number;
  readonly columns: number;
  readonly tableRows: number;
}

/** Activations in 8 bits, for the matrices that follow. */
export interface QuantizeCall {
  readonly kind: 'quantize';
  readonly at: { readonly x: number; readonly out: number };
  readonly columns: number;
  /** Groups of 32 columns that share a scale. */
  readonly span: number;
}

/** `out[r, n] = x[r] · weight[n]`; `x` is quantized or f32 as the weight's layout wants it. */
export interface MatmulCall {
  readonly kind: 'matmul';
  readonly at: { readonly x: number; readonly weight: number; readonly out: number };
  /** The kernels of the weight's layout, for one row and for several. */
  readonly matVec: string;
  readonly matMat: string;
  /** What `x` is. */
  readonly activations: 'records' | 'floats';
  /** Rows of the weight. */
  readonly columns: number;
  /** Columns of the weight. */
  readonly inner: number;
}

/** Which of `columns` experts each row goes to, and with what weights. */
export interface RouteExpertsCall {
  readonly kind: 'routeExperts';
  readonly at: {
    readonly x: number;
    readonly bias?: number;
    readonly experts: number;
    readonly routingWeights: number;
  };
  readonly columns: number;
  readonly rule: RoutingRule;
}

/** A matmul with `outputs` rows of the weight for each expert that a row chose. */
export interface MatmulExpertsCall {
  readonly kind: 'matmulExperts';
  readonly at: {
    readonly x: number;
    readonly experts: number;
    readonly weight: number;
    readonly out: number;
  };
  readonly matVec: string;
  /** What `x` is. */
  readonly activations: 'records' | 'floats';
  readonly columns: number;
  readonly outputs: number;
  /** Columns of the weight. */
  readonly inner: number;
  /** Parts of a row, one a choice, or 1. */
  readonly parts: number;
  readonly expertCount: number;
}

/** `out[r, i] = x[r, i] * scales[experts[r, i * chosen / columns]]`; 0 for experts that there are not. */
export interface ScaleExpertsCall {
  readonly kind: 'scaleExperts';
  readonly at: {
    readonly x: number;
    readonly experts: number;
    readonly scales: number;
    readonly out: number;
  };
  readonly columns: number;
  readonly chosen: number;
  readonly expertCount: number;
}

/** `out[r, n] = sum_j routingWeights[r, j] * x[r, j * columns + n]`. */
export interface CombineExpertsCall {
  readonly kind: 'combineExperts';
  readonly at: { readonly x: number; readonly routingWeights: number; readonly out: number };
  readonly columns: number;
  readonly chosen: number;
}

/** `out = a + b` or `a * b`; `b` is a row for each row, one row for all, or one value. */
export interface BinaryCall {
  readonly kind: 'add' | 'mul';
  readonly at: { readonly a: number; readonly b: number; readonly out: number };
  readonly columns: number;
  readonly b: 'rows' | 'row' | 'value';
}

export interface ScaleCall {
  readonly kind: 'scale';
  readonly at: { readonly x: number; readonly out: number };
  readonly columns: number;
  readonly factor: number;
}

export interface UnaryCall {
  readonly kind: 'unary';
  readonly at: { readonly x: number; readonly out: number };
  readonly columns: number;
  readonly fn: Activation;
}

export interface GatedCall {
  readonly kind: 'gated';
  readonly at: { readonly gate: number; readonly up: number; readonly out: number };
  readonly columns: number;
  readonly fn: Activation;
}

export interface RmsNormCall {
  readonly kind: 'rmsNorm';
  readonly at: { readonly x: number; readonly weight: number; readonly out: number };
  readonly columns: number;
  readonly group: number;
  readonly epsilon: number;
}

export interface LayerNormCall {
  readonly kind: 'layerNorm';
  readonly at: { readonly x: number; readonly weight: number; readonly bias?: number; readonly out: number };
  readonly columns: number;
  readonly epsilon: number;
}

export interface GroupNormCall {
  readonly kind: 'groupNorm';
  readonly at: { readonly x: number; readonly weight: number; readonly bias: number; readonly out: number };
  readonly columns: number;
  readonly group: number;
  readonly epsilon: number;
}

export interface L2NormCall {
  readonly kind: 'l2Norm';
  readonly at: { readonly x: number; readonly out: number };
  readonly columns: number;
  readonly group: number;
  readonly epsilon: number;
}

/** `out = a + (b - a) * t`; `t` is one of a weight's rows for all rows, or a row for each. */
export interface LerpCall {
  readonly kind: 'lerp';
  readonly at: { readonly a: number; readonly b: number; readonly t: number; readonly out: number };
  readonly columns: number;
  readonly weightRow: number | undefined;
}

/** Row after row: `out[r] = last[slots[r]]`, zero at position 0, then `last[slots[r]] = x[r]`. */
export interface TokenShiftCall {
  readonly kind: 'tokenShift';
  readonly at: BatchOperands & { readonly x: number; readonly last: number; readonly out: number };
  readonly columns: number;
  readonly slotCount: number;
}

/** RWKV-7's recurrence; the columns of a head are computed together. */
export interface Wkv7Call {
  readonly kind: 'wkv7';
  readonly at: BatchOperands & {
    readonly r: number;
    readonly w: number;
    readonly k: number;
    readonly v: number;
    readonly kk: number;
    readonly a: number;
    readonly state: number;
    readonly out: number;
  };
  readonly columns: number;
  readonly headSize: number;
  readonly slotCount: number;
}

/** `out[i] = v[i] * sum_j r[j] k[j] weight[j]`, for each head. */
export interface WkvBonusCall {
  readonly kind: 'wkvBonus';
  readonly at: {
    readonly r: number;
    readonly k: number;
    readonly v: number;
    readonly weight: number;
    readonly out: number;
  };
  readonly columns: number;
  readonly headSize: number;
}

export interface RopeTableCall {
  readonly kind: 'ropeTable';
  readonly at: { readonly positions: number; readonly factors?: number; readonly out: number };
  readonly columns: number;
  readonly parameters: RopeParameters;
}

export interface RopeCall {
  readonly kind: 'rope';
  readonly at: { readonly x: number; readonly table: number; readonly out: number };
  readonly columns: number;
  readonly headSize: number;
  readonly turned: number;
  readonly pairs: RopePairs;
}

/** `history[slots[r], positions[r]] = out[r]`, `ids[r]` or `tokens[-1 - ids[r]]`. */
export interface TokenAppendCall {
  readonly kind: 'tokenAppend';
  readonly at: BatchOperands & {
    readonly ids: number;
    readonly tokens: number;
    readonly history: number;
    readonly out: number;
  };
  readonly columns: number;
  readonly historyRows: number;
  readonly historyWidth: number;
  readonly tokenCount: number;
}

/** How a paged cache's cells are found. */
export interface CacheShape {
  readonly type: CellType;
  readonly cells: number;
  readonly blockSize: number;
  readonly blocksPerSlot: number;
  /** Slots there are. */
  readonly slotCount: number;
}

/** `cache[cell(slots[r], positions[r])] = x[r]`. */
export interface CacheAppendCall {
  readonly kind: 'cacheAppend';
  readonly at: BatchOperands & { readonly x: number; readonly blocks: number; readonly cache: number };
  readonly columns: number;
  readonly shape: CacheShape;
}

/** The columns of a key head's query heads are computed together. */
export interface AttentionCall {
  readonly kind: 'attention';
  readonly at: BatchOperands & {
    readonly q: number;
    readonly keys: number;
    readonly values: number;
    readonly blocks: number;
    readonly out: number;
  };
  readonly columns: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly keySize: number;
  readonly valueSize: number;
  readonly scale: number;
  /** Positions a row sees at most. */
  readonly window: number | undefined;
  readonly softCap: number | undefined;
  readonly shape: CacheShape;
}

/** `out[o] = x[index[o]]`, in 32-bit words. */
export interface GatherCall {
  readonly kind: 'gather';
  readonly at: { readonly x: number; readonly index: number; readonly out: number };
  readonly columns: number;
  readonly sourceRows: number;
}

/** `out[r, i] = x[r, first + i]`; `x` is `sourceColumns` wide. */
export interface SliceCall {
  readonly kind: 'slice';
  readonly at: { readonly x: number; readonly out: number };
  readonly columns: number;
  readonly first: number;
  readonly sourceColumns: number;
}

export interface SampleCall {
  readonly kind: 'sample';
  readonly at: BatchOperands & {
    readonly logits: number;
    readonly parameters: number;
    readonly history: number;
    readonly masks: number;
    readonly outputRows: number;
    readonly tokens: number;
    readonly report: number;
  };
  readonly columns: number;
  readonly vocabulary: number;
  readonly historyRows: number;
  readonly historyWidth: number;
  readonly maskWidth: number;
  readonly reportWidth: number;
  readonly rows: number;
}

/** Brings rows of `columns` bytes from one bank into another, `rowUnit` of them together; memory without rows is one row. */
export interface StageCall {
  readonly kind: 'stage';
  readonly at: Record<string, never>;
  readonly columns: number;
  readonly source: BankAddress;
  readonly target: BankAddress;
  readonly rowUnit: number;
}

/**
 * A kernel call as plain data. `at` holds the operands' addresses within the task's bank (before binding: numbers of slots),
 * `columns` how many columns there are to compute.
 */
export type CallTable =
  | EmbedCall
  | QuantizeCall
  | MatmulCall
  | RouteExpertsCall
  | MatmulExpertsCall
  | ScaleExpertsCall
  | CombineExpertsCall
  | BinaryCall
  | ScaleCall
  | UnaryCall
  | GatedCall
  | RmsNormCall
  | LayerNormCall
  | GroupNormCall
  | L2NormCall
  | LerpCall
  | TokenShiftCall
  | Wkv7Call
  | WkvBonusCall
  | RopeTableCall
  | RopeCall
  | TokenAppendCall
  | CacheAppendCall
  | AttentionCall
  | GatherCall
  | SliceCall
  | SampleCall
  | StageCall;

/** A call with its operands exchanged, name by name. */
export function withOperands(call: CallTable, operand: (value: number) => number): CallTable {
  const at = Object.fromEntries(Object.entries(call.at).map(([name, value]) => [name, operand(value)]));
  return { ...call, at } as CallTable;
}
