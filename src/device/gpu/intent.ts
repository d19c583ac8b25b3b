import type {
  AllReduceOp,
  AttentionOp,
  CombineExpertsOp,
  GatedDeltaOp,
  GatedFunction,
  GatedOp,
  LayerNormOp,
  LerpOp,
  MatmulExpertsOp,
  MatmulHeadsOp,
  MatmulOp,
  Op,
  RmsNormOp,
  SharedWeightRmsNormOp,
  Tensor,
  TokenShiftOp,
  UnaryOp,
  Weight,
  Wkv7Op,
} from '../../ops/index.ts';
import type { Temporary } from './graph-lowering.ts';
import type { HeadOps } from './match-heads.ts';

/** Where a result is written: a value of the graph, or scratch allocated by the plan. */
export type Place = Tensor | Temporary;

/** The form of activations: f32 rows, groups of 32 quants with their scales, f16 rows, or the same in core matrices. */
export type ActivationForm = 'f32' | 'q8' | HalfForm;

/** The form of activations in f16: rows, or core matrices of rows as asynchronous products on matrix cores read them. */
export type HalfForm = 'f16' | 'core-matrices';

/**
 * The input of a product. Kernels quantize f32 rows for packed products themselves, after applying the norm if one is
 * given.
 */
export type ProductInput =
  | { readonly form: 'f32'; readonly x: Tensor; readonly norm?: SharedWeightRmsNormOp | undefined }
  | { readonly form: 'q8' | HalfForm; readonly x: Temporary };

/** Stores the sums as f32 rows; `biases`, one after another, either cover all outputs or are absent. */
export interface StoreEpilogue {
  readonly kind: 'store';
  readonly y: Place;
  readonly biases: readonly Weight[];
}

/** Adds another tensor to the sums. */
export interface ResidualEpilogue {
  readonly kind: 'residual';
  readonly addend: Tensor;
  readonly y: Tensor;
}

/** The product of gate and up: the activation of one times the other. */
export interface GatedEpilogue {
  readonly kind: 'gated';
  readonly fn: GatedFunction;
  readonly y: Place;
  readonly form: ActivationForm;
}

/** Rotates queries and keys in place, and appends keys and values to the cache. */
export interface HeadsEpilogue {
  readonly kind: 'heads';
  readonly of: HeadGroup;
}

/** What is done with a product's sums. */
export type Epilogue = StoreEpilogue | ResidualEpilogue | GatedEpilogue | HeadsEpilogue;

/** Counters that a launch zeroes for the attention after it. */
export interface Counters {
  readonly memory: Temporary;
  readonly count: number;
}

/** Which of queries, keys and values one product computes, in this order; others have width 0. */
export interface HeadGroup {
  readonly heads: HeadOps;
  readonly weights: readonly Weight[];
  readonly biases: readonly Weight[];
  readonly widths: { readonly q: number; readonly k: number; readonly v: number };
  readonly zeroed: Counters | undefined;
}

/**
 * Converts activations to a form that products read, in a separate launch; if `norm` is given, its result on its `x`.
 */
export interface ConvertIntent {
  readonly kind: 'convert';
  readonly x: Tensor;
  readonly norm: SharedWeightRmsNormOp | undefined;
  readonly form: 'q8' | HalfForm;
  /** Parts of a row that are rows of f16 of their own, each padded; 1 where there is a norm, and for other forms. */
  readonly parts: number;
  readonly y: Temporary;
}

/** A product by stacked weights of one format; gate and up are two of them. */
export interface ProductOperands {
  /** Determines the number of rows. */
  readonly rows: Tensor;
  readonly x: ProductInput;
  readonly weights: readonly Weight[];
}

/** A product of few rows. */
export interface MatvecIntent extends ProductOperands {
  readonly kind: 'matvec';
  readonly epilogue: Epilogue;
}

/** Independent products of the same few rows by packed weights of one format, without biases, as one launch. */
export interface MatvecGroupIntent {
  readonly kind: 'matvecGroup';
  readonly x: ProductInput;
  readonly products: readonly MatmulOp[];
}

/** A product of many rows, or by unquantized weights that matrix-vector kernels do not support. */
export interface ProductIntent extends ProductOperands {
  readonly kind: 'product';
  readonly epilogue: Exclude<Epilogue, HeadsEpilogue>;
}

/** A product of many rows by the driver's BLAS library, with the weights decoded to f16 first. */
export interface LibraryProductIntent extends ProductOperands {
  readonly kind: 'libraryProduct';
  readonly epilogue: Exclude<Epilogue, HeadsEpilogue>;
}

/** Sixteen bits of a weight as the file has them, and of the activations that it meets. */
export type HalfType = 'f16' | 'bf16';

/** Rows of activations rounded to f16, saturating, or to bf16, in the file's order of elements. */
export interface RoundedRows {
  readonly type: HalfType;
  readonly memory: Temporary;
}

/** The form of `RoundedRows` as a kernel's result. */
export type RoundedForm = `rounded-${HalfType}`;

/** Rounds activations; those of a norm, a function or a gated product are computed on the way, from its `x`, or its gate and up. */
export interface RoundIntent {
  readonly kind: 'round';
  readonly of: Tensor | SharedWeightRmsNormOp | UnaryOp | GatedOp;
  readonly y: RoundedRows;
}

/** A product of many rows by f16 or bf16 weights as the file has them, with the driver's BLAS library. */
export interface RoundedProductIntent {
  readonly kind: 'roundedProduct';
  /** Determines the number of rows. */
  readonly rows: Tensor;
  readonly x: RoundedRows;
  readonly weight: Weight;
  readonly epilogue: StoreEpilogue | ResidualEpilogue;
}

/**
 * Activations split into two matrices of f16 or bf16, whose products together are nearly as accurate as f32, with row scales.
 */
export interface SplitHalves {
  readonly type: HalfType;
  readonly high: Temporary;
  readonly low: Temporary;
  readonly scales: Temporary;
}

/** Computes the two matrices, of the norm's result if one is given. */
export interface SplitHalvesIntent {
  readonly kind: 'splitHalves';
  readonly x: Tensor;
  readonly norm: SharedWeightRmsNormOp | undefined;
  readonly y: SplitHalves;
}

/** A product by f16 or bf16 weights of more rows than matrix-vector kernels take, but few, that reads the weights once. */
export interface SplitProductIntent {
  readonly kind: 'splitProduct';
  /** Determines the number of rows. */
  readonly rows: Tensor;
  readonly x: SplitHalves;
  readonly weights: readonly Weight[];
  readonly epilogue: Exclude<Epilogue, HeadsEpilogue>;
}

/** Independent products of few rows by unquantized weights, each with its elementwise epilogue. */
export interface ElementProductsIntent {
  readonly kind: 'elementProducts';
  readonly products: readonly ElementProduct[];
}

/** A product with elementwise steps: the first reads the sum, each other one the previous result. */
export interface ElementProduct {
  readonly op: MatmulOp;
  /** What makes one number of the product's, which is a gate, and another product's, before the steps. */
  readonly gated?: { readonly op: GatedOp; readonly up: MatmulOp } | undefined;
  readonly steps: readonly ElementStep[];
  readonly out: Tensor;
  /** Where the results are among rows of several products, in place of `out`. */
  readonly joined?: JoinedRows;
}

/** An elementwise operator, and its other operands. */
export interface ElementStep {
  readonly op: Extract<Op, { kind: 'unary' | 'scale' | 'clamp' | 'add' | 'mul' | 'lerp' }>;
  readonly operands: readonly (Tensor | Weight)[];
}

/** Consecutive elementwise operators, as one launch. */
export interface ElementChainIntent {
  readonly kind: 'elementChain';
  readonly x: Tensor;
  readonly steps: readonly ElementStep[];
  readonly out: Tensor;
}

/** Rotates and appends what a product of queries, keys and values wrote to `joined`, in rows of `width`. */
export interface HeadsAppendIntent {
  readonly kind: 'headsAppend';
  readonly of: HeadGroup;
  readonly joined: Temporary;
  readonly width: number;
}

/** Rows of one product's results within joined ones: the buffer, the row width, and the offset in each row. */
export interface JoinedRows {
  readonly memory: Temporary;
  readonly stride: number;
  readonly start: number;
}

/** Like `headsAppend`, with a norm of each query and key head before RoPE. */
export interface HeadsNormAppendIntent {
  readonly kind: 'headsNormAppend';
  readonly heads: HeadOps;
  readonly norms: NonNullable<HeadOps['norms']>;
  readonly rotation: NonNullable<HeadOps['rotation']>;
  readonly joined: { readonly q: JoinedRows; readonly k: JoinedRows; readonly v: JoinedRows };
  readonly zeroed: Counters | undefined;
}

/**
 * Attention row by row. The partitions of the context are merged by the last workgroup to finish, or by a separate
 * launch.
 */
export interface AttentionIntent {
  readonly kind: 'attention';
  readonly op: AttentionOp;
  readonly partitions: number;
  readonly arrivals: Temporary | undefined;
  readonly y: Place;
  readonly form: ActivationForm;
}

/** Attention with many rows per sequence, in tiles on matrix units. */
export interface AttentionTilesIntent {
  readonly kind: 'attentionTiles';
  readonly op: AttentionOp;
  readonly y: Place;
  readonly form: ActivationForm | RoundedForm;
}

/** Common parts of products with routed experts' weights. */
interface ExpertParts {
  readonly x: ProductInput;
  /** Whether the choices of all rows are grouped by expert; otherwise each is computed by itself. */
  readonly grouped: boolean;
}

/** A product with routed experts' weights. */
export interface ExpertProductIntent extends ExpertParts {
  readonly kind: 'expertProduct';
  readonly op: MatmulExpertsOp;
}

/** A product of each head with a matrix of its own; `grouped` where the rows of a head are taken together. */
export interface HeadProductIntent {
  readonly kind: 'headProduct';
  readonly op: MatmulHeadsOp;
  readonly x: ProductInput;
  readonly grouped: boolean;
}

/**
 * Gate and up of the routed experts with the activation, multiplied by the routing weights if given; one product where each
 * expert's matrix has the rows of its gate and then those of its up.
 */
export interface GatedExpertsIntent extends ExpertParts {
  readonly kind: 'gatedExperts';
  readonly gate: MatmulExpertsOp;
  /** The gate itself where it is both. */
  readonly up: MatmulExpertsOp;
  readonly op: GatedOp;
  readonly routingWeights: Tensor | undefined;
  readonly y: Place;
  readonly form: Exclude<ActivationForm, 'core-matrices'>;
}

/**
 * The down projection of routed experts, each of which reads its own part of a row, already multiplied by the routing
 * weights; the results are summed with the biases times `routingWeights`, and `addend` is added.
 */
export interface AddedExpertsIntent extends ExpertParts {
  readonly kind: 'addedExperts';
  readonly op: MatmulExpertsOp;
  readonly routingWeights: Tensor;
  readonly addend: Tensor | undefined;
  readonly y: Tensor;
}

/** Sums the choices' results by their routing weights, and adds another tensor. */
export interface CombineResidualIntent {
  readonly kind: 'combineResidual';
  readonly op: CombineExpertsOp;
  readonly addend: Tensor;
  readonly y: Tensor;
}

/** A norm of rows or groups, with another tensor added to its result. */
export interface NormResidualIntent {
  readonly kind: 'normResidual';
  readonly op: RmsNormOp;
  readonly addend: Tensor;
  readonly y: Tensor;
}

/** A sum over the ranks of a group, with another tensor added to it. */
export interface ReduceResidualIntent {
  readonly kind: 'reduceResidual';
  readonly op: AllReduceOp;
  readonly addend: Tensor;
  readonly y: Tensor;
}

/**
 * A product of few rows, of which every rank of a group computes a part of the sum: it sends its part to the others as it computes it, and
 * then adds all parts up in the order of the ranks, and another tensor if one is given.
 */
export interface PushedSumIntent extends ProductOperands {
  readonly kind: 'pushedSum';
  /** Added to this rank's part. */
  readonly biases: readonly Weight[];
  /** `x` is this rank's part. */
  readonly op: AllReduceOp;
  readonly addend: Tensor | undefined;
  readonly y: Tensor;
}

/** `fn(gate) * norm`, of a norm of rows or groups that nothing else reads. */
export interface GatedNormIntent {
  readonly kind: 'gatedNorm';
  readonly norm: SharedWeightRmsNormOp;
  readonly op: GatedOp;
  readonly y: Place;
  readonly form: Exclude<ActivationForm, 'q8'>;
}

/** An interpolation of a row with the previous one (token shift), by a row of a weight. */
export type ShiftLerp = LerpOp & { readonly t: Weight };

/** All interpolations of rows with the previous ones, including the preceding norm if given. */
export interface ShiftLerpsIntent {
  readonly kind: 'shiftLerps';
  readonly shift: TokenShiftOp;
  readonly lerps: readonly ShiftLerp[];
  /** Where the result of each goes instead of its tensor, if only products of rounded rows read it. */
  readonly rounded: readonly (RoundedRows | undefined)[];
  readonly norm: LayerNormOp | undefined;
}

/** RWKV-7's recurrence, with sixteen rows of a sequence at a time if `chunked`. */
export interface Wkv7Intent {
  readonly kind: 'wkv7';
  readonly op: Wkv7Op;
  readonly chunked: boolean;
}

/**
 * The recurrence with the computation of its keys and its epilogue: the removal key `l2Norm(key * kK)`, the replacement
 * key `lerp(key, key * a, kA)`, then `(groupNorm + wkvBonus) * gate`.
 */
export interface FusedWkv7Intent {
  readonly kind: 'fusedWkv7';
  readonly op: Wkv7Op;
  readonly chunked: boolean;
  readonly of: FusedWkvOperands;
}

/**
 * The other operands of the fused recurrence; `kK`, `kA` and `rK` are GGUF's `time_mix_k_k`, `time_mix_k_a` and
 * `time_mix_r_k`.
 */
export interface FusedWkvOperands {
  /** The source of the removal key and the replacement key. */
  readonly key: Tensor;
  readonly kK: Weight;
  readonly kA: Weight;
  readonly rK: Weight;
  readonly normWeight: Weight;
  readonly normBias: Weight;
  readonly gate: Tensor;
  readonly lengthEpsilon: number;
  readonly normEpsilon: number;
  readonly out: Tensor;
}

/** A part of a tensor's rows: as many columns as what reads it takes, from `offset` on. */
export interface RowPart {
  readonly of: Tensor;
  readonly offset: number;
}

/**
 * The gated delta rule with the slices and the elementwise operators that make its operands: the logarithm of a head's
 * decay is `softplus(alpha + bias) * factor`, its beta `sigmoid(beta)`.
 */
export interface FusedGatedDeltaIntent {
  readonly kind: 'fusedGatedDelta';
  readonly op: GatedDeltaOp;
  readonly of: FusedGatedDeltaOperands;
}

/** What the fused gated delta rule reads. */
export interface FusedGatedDeltaOperands {
  readonly q: RowPart;
  readonly k: RowPart;
  readonly v: RowPart;
  readonly alpha: Tensor;
  readonly bias: Weight;
  readonly factor: Weight;
  readonly beta: Tensor;
}

/** Operators without any planning decision: one intent each. */
export type PlainOp = Exclude<
  Op,
  { kind: 'matmul' | 'matmulHeads' | 'matmulExperts' | 'attention' | 'wkv7' }
>;

/** What a target has to launch. A device has a table of them; the compiler reports a missing one. */
export type Intent =
  | PlainOp
  | ConvertIntent
  | MatvecIntent
  | MatvecGroupIntent
  | ProductIntent
  | LibraryProductIntent
  | RoundIntent
  | RoundedProductIntent
  | SplitHalvesIntent
  | SplitProductIntent
  | ElementProductsIntent
  | ElementChainIntent
  | HeadsAppendIntent
  | HeadsNormAppendIntent
  | AttentionIntent
  | AttentionTilesIntent
  | ExpertProductIntent
  | HeadProductIntent
  | GatedExpertsIntent
  | AddedExpertsIntent
  | CombineResidualIntent
  | NormResidualIntent
  | ReduceResidualIntent
  | PushedSumIntent
  | GatedNormIntent
  | ShiftLerpsIntent
  | Wkv7Intent
  | FusedWkv7Intent
  | FusedGatedDeltaIntent;

/** Intents that a device may lack, because there is another way to compute the same. */
export type OptionalKind =
  | 'matvecGroup'
  | 'libraryProduct'
  | 'round'
  | 'roundedProduct'
  | 'splitHalves'
  | 'splitProduct'
  | 'elementProducts'
  | 'elementChain'
  | 'headsNormAppend'
  | 'attentionTiles'
  | 'gatedExperts'
  | 'addedExperts'
  | 'combineResidual'
  | 'normResidual'
  | 'reduceResidual'
  | 'pushedSum'
  | 'gatedNorm'
  | 'shiftLerps'
  | 'fusedWkv7'
  | 'fusedGatedDelta';

/** The intents of a device that lacks some. */
export type IntentWithout<Lacks extends OptionalKind> = Exclude<Intent, { readonly kind: Lacks }>;
