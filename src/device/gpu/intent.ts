import type {
  AttentionOp,
  CombineExpertsOp,
  GatedFunction,
  GatedOp,
  LayerNormOp,
  LerpOp,
  MatmulExpertsOp,
  MatmulOp,
  Op,
  RmsNormOp,
  Tensor,
  TokenShiftOp,
  Weight,
  Wkv7Op,
} from '../../ops/index.ts';
import type { Temporary } from './graph-lowering.ts';
import type { HeadOps } from './match-heads.ts';

/** Where a result is put: a value of the graph, or scratch that the plan makes for it. */
export type Place = Tensor | Temporary;

/** How activations are stored: f32 rows, groups of 32 quants with their scales, or f16 rows. */
export type ActivationForm = 'f32' | 'q8' | 'f16';

/** What a product reads. Kernels quantize f32 rows of packed products for themselves, and norm them first where a norm is given. */
export type ProductInput =
  | { readonly form: 'f32'; readonly x: Tensor; readonly norm?: RmsNormOp | undefined }
  | { readonly form: 'q8' | 'f16'; readonly x: Temporary };

/** The sums as f32 rows; `biases`, one after another, are as wide as all outputs, or there are none. */
export interface StoreEpilogue {
  readonly kind: 'store';
  readonly y: Place;
  readonly biases: readonly Weight[];
}

/** The sums with another tensor added. */
export interface ResidualEpilogue {
  readonly kind: 'residual';
  readonly addend: Tensor;
  readonly y: Tensor;
}

/** The product of gate and up: the activation of the one times the other. */
export interface GatedEpilogue {
  readonly kind: 'gated';
  readonly fn: GatedFunction;
  readonly y: Place;
  readonly form: ActivationForm;
}

/** Queries and keys are rotated where they are, keys and values appended to the cache. */
export interface HeadsEpilogue {
  readonly kind: 'heads';
  readonly of: HeadGroup;
}

/** What becomes of a product's sums. */
export type Epilogue = StoreEpilogue | ResidualEpilogue | GatedEpilogue | HeadsEpilogue;

/** Counters that a launch zeroes for the attention after it. */
export interface Counters {
  readonly memory: Temporary;
  readonly count: number;
}

/** Those of queries, keys and values that one product computes, in this order; others are 0 wide. */
export interface HeadGroup {
  readonly heads: HeadOps;
  readonly weights: readonly Weight[];
  readonly biases: readonly Weight[];
  readonly widths: { readonly q: number; readonly k: number; readonly v: number };
  readonly zeroed: Counters | undefined;
}

/** Activations in a form that products read, made by a launch of its own; `norm`'s result where one is given, of its `x`. */
export interface ConvertIntent {
  readonly kind: 'convert';
  readonly x: Tensor;
  readonly norm: RmsNormOp | undefined;
  readonly form: 'q8' | 'f16';
  readonly y: Temporary;
}

/** A product over weights of one format that lie one below the other; gate and up are two of them. */
export interface ProductParts {
  /** Tells how many rows there are. */
  readonly rows: Tensor;
  readonly x: ProductInput;
  readonly weights: readonly Weight[];
}

/** A product of few rows. */
export interface MatvecIntent extends ProductParts {
  readonly kind: 'matvec';
  readonly epilogue: Epilogue;
}

/** A product of many rows, or of numbers where matrix-vector kernels do not take them. */
export interface ProductIntent extends ProductParts {
  readonly kind: 'product';
  readonly epilogue: Exclude<Epilogue, HeadsEpilogue>;
}

/** A product of many rows on the driver's BLAS library, the weights decoded to f16 before. */
export interface LibraryProductIntent extends ProductParts {
  readonly kind: 'libraryProduct';
  readonly epilogue: Exclude<Epilogue, HeadsEpilogue>;
}

/** Activations as two f16 matrices, whose products together are as exact as in f32, and the scales of their rows. */
export interface SplitF16 {
  readonly high: Temporary;
  readonly low: Temporary;
  readonly scales: Temporary;
}

/** Makes the two matrices. */
export interface SplitF16Intent {
  readonly kind: 'splitF16';
  readonly x: Tensor;
  readonly y: SplitF16;
}

/** A product of many rows by f16 weights on the driver's BLAS library. */
export interface SplitProductIntent {
  readonly kind: 'splitProduct';
  readonly op: MatmulOp;
  readonly x: SplitF16;
}

/** Products that do not build on each other, of few rows by numbers, each with the operators that follow its elements. */
export interface ElementProductsIntent {
  readonly kind: 'elementProducts';
  readonly products: readonly ElementProduct[];
}

/** A product and what becomes of its elements: the first step reads the sum, each other one the result before. */
export interface ElementProduct {
  readonly op: MatmulOp;
  readonly steps: readonly ElementStep[];
  readonly out: Tensor;
}

/** An operator over a result's elements, and what it reads beside them. */
export interface ElementStep {
  readonly op: Extract<Op, { kind: 'unary' | 'scale' | 'add' | 'mul' | 'lerp' }>;
  readonly operands: readonly (Tensor | Weight)[];
}

/** Operators over a tensor's elements, each on the result of the one before: one launch. */
export interface ElementChainIntent {
  readonly kind: 'elementChain';
  readonly x: Tensor;
  readonly steps: readonly ElementStep[];
  readonly out: Tensor;
}

/** Rotates and appends what a product of queries, keys and values left in `joined`, in rows of `width`. */
export interface HeadsAppendIntent {
  readonly kind: 'headsAppend';
  readonly of: HeadGroup;
  readonly joined: Temporary;
  readonly width: number;
}

/** Rows of a product's results: where they lie, how far apart, and where its own begin in them. */
export interface JoinedRows {
  readonly memory: Temporary;
  readonly stride: number;
  readonly start: number;
}

/** As `headsAppend`, with a norm of each head of queries and keys before the rotation. */
export interface HeadsNormAppendIntent {
  readonly kind: 'headsNormAppend';
  readonly heads: HeadOps;
  readonly norms: NonNullable<HeadOps['norms']>;
  readonly rotation: NonNullable<HeadOps['rotation']>;
  readonly joined: { readonly q: JoinedRows; readonly k: JoinedRows; readonly v: JoinedRows };
  readonly zeroed: Counters | undefined;
}

/** Attention row by row. The context's partitions are merged by the last block that arrives, or by a launch of its own. */
export interface AttentionIntent {
  readonly kind: 'attention';
  readonly op: AttentionOp;
  readonly partitions: number;
  readonly arrivals: Temporary | undefined;
  readonly y: Place;
  readonly form: ActivationForm;
}

/** Attention of many rows a sequence in tiles on matrix units. */
export interface AttentionTilesIntent {
  readonly kind: 'attentionTiles';
  readonly op: AttentionOp;
  readonly y: Place;
  readonly form: ActivationForm;
}

/** What products with routed experts' weights have in common. */
interface ExpertParts {
  readonly x: ProductInput;
  /** Whether the choices of all rows are grouped by expert; else each is computed by itself. */
  readonly grouped: boolean;
}

/** A product with routed experts' weights. */
export interface ExpertProductIntent extends ExpertParts {
  readonly kind: 'expertProduct';
  readonly op: MatmulExpertsOp;
}

/** Gate and up of the routed experts with the activation, times the routing weights where they are given. */
export interface GatedExpertsIntent extends ExpertParts {
  readonly kind: 'gatedExperts';
  readonly gate: MatmulExpertsOp;
  readonly up: MatmulExpertsOp;
  readonly op: GatedOp;
  readonly routingWeights: Tensor | undefined;
  readonly y: Place;
  readonly form: ActivationForm;
}

/**
 * The down projection of routed experts, which each read their own part of a row, multiplied by the routing weights before; the
 * results are summed with the biases times `routingWeights`, and `addend` is added.
 */
export interface AddedExpertsIntent extends ExpertParts {
  readonly kind: 'addedExperts';
  readonly op: MatmulExpertsOp;
  readonly routingWeights: Tensor;
  readonly addend: Tensor | undefined;
  readonly y: Tensor;
}

/** The choices' results by their routing weights, and another tensor added. */
export interface CombineResidualIntent {
  readonly kind: 'combineResidual';
  readonly op: CombineExpertsOp;
  readonly addend: Tensor;
  readonly y: Tensor;
}

/** A norm of rows or groups, and another tensor added to its result. */
export interface NormResidualIntent {
  readonly kind: 'normResidual';
  readonly op: RmsNormOp;
  readonly addend: Tensor;
  readonly y: Tensor;
}

/** A lerp of a row towards the one before (token shift), by a row of a weight. */
export type ShiftLerp = LerpOp & { readonly t: Weight };

/** All lerps of rows towards the ones before them, with the norm before them where one is given. */
export interface ShiftLerpsIntent {
  readonly kind: 'shiftLerps';
  readonly shift: TokenShiftOp;
  readonly lerps: readonly ShiftLerp[];
  readonly norm: LayerNormOp | undefined;
}

/** RWKV-7's recurrence; sixteen rows of a sequence at a time where `chunked`. */
export interface Wkv7Intent {
  readonly kind: 'wkv7';
  readonly op: Wkv7Op;
  readonly chunked: boolean;
}

/**
 * The recurrence with what makes its keys and what becomes of its result: the removal key `l2Norm(key * kK)`, the
 * replacement key `lerp(key, key * a, kA)`, then `(groupNorm + wkvBonus) * gate`.
 */
export interface FusedWkv7Intent {
  readonly kind: 'fusedWkv7';
  readonly op: Wkv7Op;
  readonly chunked: boolean;
  readonly of: FusedWkvOperands;
}

/** What is computed with the recurrence; `kK`, `kA` and `rK` are GGUF's `time_mix_k_k`, `time_mix_k_a` and `time_mix_r_k`. */
export interface FusedWkvOperands {
  /** What the removal key and the replacement key are made of. */
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

/** Operators about which there is nothing to decide: an intent each. */
export type PlainOp = Exclude<Op, { kind: 'matmul' | 'matmulExperts' | 'attention' | 'wkv7' }>;

/** What a target is to launch. A device has a table of them; the compiler says which one it lacks. */
export type Intent =
  | PlainOp
  | ConvertIntent
  | MatvecIntent
  | ProductIntent
  | LibraryProductIntent
  | SplitF16Intent
  | SplitProductIntent
  | ElementProductsIntent
  | ElementChainIntent
  | HeadsAppendIntent
  | HeadsNormAppendIntent
  | AttentionIntent
  | AttentionTilesIntent
  | ExpertProductIntent
  | GatedExpertsIntent
  | AddedExpertsIntent
  | CombineResidualIntent
  | NormResidualIntent
  | ShiftLerpsIntent
  | Wkv7Intent
  | FusedWkv7Intent;

/** Intents that a device may do without: there is another way to compute the same. */
export type OptionalKind =
  | 'libraryProduct'
  | 'splitF16'
  | 'splitProduct'
  | 'elementProducts'
  | 'elementChain'
  | 'headsNormAppend'
  | 'attentionTiles'
  | 'gatedExperts'
  | 'addedExperts'
  | 'combineResidual'
  | 'normResidual'
  | 'shiftLerps'
  | 'fusedWkv7';

/** The intents of a device that lacks some. */
export type IntentWithout<Lacks extends OptionalKind> = Exclude<Intent, { readonly kind: Lacks }>;
