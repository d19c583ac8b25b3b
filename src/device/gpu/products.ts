import {
  type AllReduceOp,
  type BinaryOp,
  type CombineExpertsOp,
  type GatedOp,
  hasSharedWeight,
  type MatmulOp,
  type Op,
  type RmsNormOp,
  type SharedWeightRmsNormOp,
  type Tensor,
  type Weight,
} from '../../ops/index.ts';
import { FINISHED_OUTPUTS } from './dequantized.ts';
import type { Fusion } from './fusion.ts';
import type { GraphUses } from './graph-uses.ts';
import { halfForm, isReadInHalves, roundedFor } from './half-products.ts';
import type { ActivationForm, Epilogue, HeadsEpilogue, ProductInput } from './intent.ts';
import { isPacked } from './plan-scope.ts';
import type { GpuPlanner } from './planner.ts';

/** From this number of rows on, a BLAS library gains more than decoding packed weights for it costs, where products read rows of f16. */
const MIN_LIBRARY_ROWS = 256;

/** Maximum products of few rows in one launch. */
export const MAX_GROUPED = 4;

/** A product to be planned, whose input has no form yet. */
interface WantedProduct<E extends Epilogue> {
  readonly x: Tensor;
  /** Stacked weights; gate and up are two. */
  readonly weights: readonly Weight[];
  readonly epilogue: E;
}

/** Whether products by these weights of so many rows have any epilogue. */
export function takesEpilogues(
  weights: readonly Weight[],
  to: GpuPlanner,
  rows = to.graph.shape.rows,
): boolean {
  return isUsual(weights, to) || halfForm(weights, to, rows)?.form === 'split';
}

/** Whether the kernels of packed weights take these. */
function isUsual(weights: readonly Weight[], { facts }: GpuPlanner): boolean {
  return facts.takesNumbers || weights.every(isPacked);
}

/** Whether matrix-vector kernels compute products of a tensor by the weights. */
export function isMatvec(x: Tensor, weights: readonly Weight[], to: GpuPlanner): boolean {
  return to.hasMatvecRows(x) && isUsual(weights, to);
}

/** A product by itself. */
export function planMatmul({ x, weight, bias, out }: MatmulOp, to: GpuPlanner): void {
  planProduct(to, {
    x,
    weights: [weight],
    epilogue: { kind: 'store', y: out, biases: bias ? [bias] : [] },
  });
}

/** Plans a product with the best kernel for its rows and weights. */
export function planProduct(to: GpuPlanner, of: WantedProduct<Exclude<Epilogue, HeadsEpilogue>>): void {
  const { x, weights, epilogue } = of;
  if (isMatvec(x, weights, to)) {
    planMatvec(to, of);
    return;
  }
  const halves = halfForm(weights, to, to.capacity(x));
  if (halves?.form === 'split') {
    to.add({ kind: 'splitProduct', rows: x, x: to.activations.split(x, halves.type), weights, epilogue });
    return;
  }
  if (halves && epilogue.kind !== 'gated') {
    const [weight] = weights as [Weight];
    to.add({ kind: 'roundedProduct', rows: x, x: to.activations.round(x, halves.type), weight, epilogue });
    return;
  }
  const form = weights.every(isPacked) ? to.productForm(weights, to.capacity(x)) : 'f32';
  const input: ProductInput = form === 'f32' ? { form, x } : { form, x: to.activations.as(x, form) };
  const kind = form === 'f16' && isLibraryProduct(of, to) ? 'libraryProduct' : 'product';
  to.add({ kind, rows: x, weights, x: input, epilogue });
}

/** A product of few rows. */
export function planMatvec(to: GpuPlanner, { x, weights, epilogue }: WantedProduct<Epilogue>): void {
  const left = to.facts.buffers - 1 - buffersOf(epilogue);
  const input: ProductInput = weights.every(isPacked)
    ? to.activations.quantizing(x, left)
    : { form: 'f32', x };
  to.add({ kind: 'matvec', rows: x, weights, x: input, epilogue });
}

/** Number of buffers that an epilogue binds. */
function buffersOf(epilogue: Epilogue): number {
  if (epilogue.kind === 'gated') return 1;
  if (epilogue.kind === 'residual') return 2;
  if (epilogue.kind === 'store') return epilogue.biases.length > 0 ? 2 : 1;
  const { biases, widths, heads } = epilogue.of;
  const { q, k, v } = widths;
  const table = heads.rotation && (q > 0 || k > 0);
  return [biases.length > 0, table, q > 0, k > 0 || v > 0, k > 0, v > 0].filter(Boolean).length;
}

/** True if there is a BLAS library and the product is large enough for it. */
function isLibraryProduct({ x, weights, epilogue }: WantedProduct<Epilogue>, to: GpuPlanner): boolean {
  const outputs = weights.reduce((sum, { rows }) => sum + rows, 0) / (epilogue.kind === 'gated' ? 2 : 1);
  const rows = to.capacity(x);
  const areMany = rows >= MIN_LIBRARY_ROWS || to.readsCopies(weights, rows);
  return to.has('libraryProduct') && outputs % FINISHED_OUTPUTS === 0 && areMany;
}

/** Fuses gate and up into one product with the activation, in the form that the next product reads. */
export function fuseGated(op: Op, to: GpuPlanner): Fusion | undefined {
  if (op.kind !== 'gated') return undefined;
  const found = matchGated(op, to.uses);
  const joins =
    found && takesEpilogues(found.weights, to, to.capacity(found.x)) && to.facts.joins(found.weights);
  if (joins) return { ops: [...found.ops, op], plan: () => planGated(op, found, to) };
  return roundedFor(op.out, to) ? { ops: [op], plan: () => to.activations.absorbFunction(op) } : undefined;
}

/** Fuses a function of one number with the rounding of its result, which only products of rounded rows read. */
export function fuseRoundedUnary(op: Op, to: GpuPlanner): Fusion | undefined {
  if (op.kind !== 'unary' || !roundedFor(op.out, to)) return undefined;
  return { ops: [op], plan: () => to.activations.absorbFunction(op) };
}

function planGated(op: GatedOp, { x, weights }: GatedProducts, to: GpuPlanner): void {
  const wanted = to.activations.formLeft(op.out);
  const narrow = op.out.width < to.facts.minQuantizedOutputs && to.activations.isQuantizedInside(op.out);
  const form = wanted === 'q8' && narrow ? 'f32' : gatedForm(wanted, weights, to.hasMatvecRows(x));
  const y = to.activations.place(op.out, form);
  planProduct(to, { x, weights, epilogue: { kind: 'gated', fn: op.fn, y, form } });
}

/** The form of gate and up's result: kernels convert to the form that they read themselves. */
function gatedForm(
  wanted: ActivationForm,
  weights: readonly Weight[],
  hasMatvecRows: boolean,
): ActivationForm {
  if (wanted === 'q8') return hasMatvecRows ? 'q8' : 'f32';
  return weights.every(isPacked) ? wanted : 'f32';
}

/** Gate and up, as products of one tensor. */
interface GatedProducts {
  readonly x: Tensor;
  /** Two weights, or one whose first half of rows is the gate's. */
  readonly weights: readonly Weight[];
  readonly ops: readonly Op[];
}

/** Matches gate and up: products by weights of one format, or halves of one product, without bias and other readers. */
function matchGated(op: GatedOp, uses: GraphUses): GatedProducts | undefined {
  if (op.gate === op.up || uses.onlyReader(op.gate) !== op || uses.onlyReader(op.up) !== op) return undefined;
  const gate = uses.producer(op.gate);
  const up = uses.producer(op.up);
  if (gate?.kind === 'matmul' && up?.kind === 'matmul') {
    const alike = gate.x === up.x && gate.weight.format === up.weight.format && !gate.bias && !up.bias;
    return alike ? { x: gate.x, weights: [gate.weight, up.weight], ops: [gate, up] } : undefined;
  }
  if (gate?.kind !== 'slice' || up?.kind !== 'slice' || gate.x !== up.x) return undefined;
  const both = uses.producer(gate.x);
  if (both?.kind !== 'matmul' || both.bias || uses.readers(both.out).length !== 2) return undefined;
  const { width } = op.out;
  const whole = gate.segmentWidth === width && up.segmentWidth === width;
  const halves = whole && gate.offset === 0 && up.offset === width && both.out.width === 2 * width;
  return halves ? { x: both.x, weights: [both.weight], ops: [both, gate, up] } : undefined;
}

/** Fuses a product with the addition of another tensor. */
export function fuseResidual(op: Op, to: GpuPlanner): Fusion | undefined {
  const found = op.kind === 'matmul' && !op.bias ? matchResidual(op, to.uses) : undefined;
  if (op.kind !== 'matmul' || !found) return undefined;
  const rows = to.capacity(op.x);
  if (!takesEpilogues([op.weight], to, rows) && !halfForm([op.weight], to, rows)) return undefined;
  const { sum, addend } = found;
  if (to.facts.bindsOnce && addend === op.x) return undefined;
  const epilogue = { kind: 'residual', addend, y: sum.out } as const;
  return { ops: [op, sum], plan: () => planProduct(to, { x: op.x, weights: [op.weight], epilogue }) };
}

/** An addition, and the tensor that is added. */
export interface Residual {
  readonly sum: BinaryOp;
  readonly addend: Tensor;
}

/**
 * Matches the addition of another tensor to a product, a sum of experts' products or over ranks, or a norm, without other readers.
 */
export function matchResidual(
  op: MatmulOp | CombineExpertsOp | RmsNormOp | AllReduceOp,
  uses: GraphUses,
): Residual | undefined {
  const sum = uses.onlyReader(op.out);
  if (sum?.kind !== 'add' || sum.b.kind !== 'tensor' || sum.a === sum.b) return undefined;
  return { sum, addend: sum.a === op.out ? sum.b : sum.a };
}

/** Fuses the norm of a block's result with the residual addition, as in Gemma. */
export function fuseNormResidual(op: Op, to: GpuPlanner): Fusion | undefined {
  const found = op.kind === 'rmsNorm' && to.has('normResidual') ? matchResidual(op, to.uses) : undefined;
  if (op.kind !== 'rmsNorm' || !found) return undefined;
  const { sum, addend } = found;
  if (to.facts.bindsOnce && addend === op.x) return undefined;
  return { ops: [op, sum], plan: () => to.add({ kind: 'normResidual', op, addend, y: sum.out }) };
}

/** Fuses the sum over the ranks of what they computed in parts with the residual addition. */
export function fuseReduceResidual(op: Op, to: GpuPlanner): Fusion | undefined {
  const found = op.kind === 'allReduce' && to.has('reduceResidual') ? matchResidual(op, to.uses) : undefined;
  if (op.kind !== 'allReduce' || !found || found.addend.width !== op.x.width) return undefined;
  const { sum, addend } = found;
  return { ops: [op, sum], plan: () => to.add({ kind: 'reduceResidual', op, addend, y: sum.out }) };
}

/**
 * Fuses a product of which the ranks compute parts of the sum with the sum over the ranks and the residual addition. Odd rows would end in
 * half a slot, whose other half nobody sends.
 */
export function fusePushedSum(op: Op, to: GpuPlanner): Fusion | undefined {
  if (op.kind !== 'allReduce' || !to.has('pushedSum')) return undefined;
  const { x } = op;
  const product = to.uses.producer(x);
  if (product?.kind !== 'matmul' || to.uses.onlyReader(x) !== op) return undefined;
  const fits = x.width % 2 === 0 && to.capacity(x) * x.width <= to.facts.mostPushed;
  if (!fits || !isMatvec(product.x, [product.weight], to)) return undefined;
  const found = matchResidual(op, to.uses);
  const residual = found?.addend.width === x.width ? found : undefined;
  const ops = [product, op, ...(residual ? [residual.sum] : [])];
  return { ops, plan: () => planPushedSum(product, op, residual, to) };
}

function planPushedSum(
  { x, weight, bias }: MatmulOp,
  op: AllReduceOp,
  residual: Residual | undefined,
  to: GpuPlanner,
): void {
  to.add({
    kind: 'pushedSum',
    rows: x,
    x: to.activations.quantizing(x, to.facts.buffers),
    weights: [weight],
    biases: bias ? [bias] : [],
    op,
    addend: residual?.addend,
    y: residual?.sum.out ?? op.out,
  });
}

/**
 * Fuses a norm of whole rows that only products by packed weights read, or only ones of its halves: they normalize themselves, or
 * one launch normalizes and converts.
 */
export function fuseNorm(op: Op, to: GpuPlanner): Fusion | undefined {
  if (op.kind !== 'rmsNorm' || op.size !== op.x.width || !hasSharedWeight(op)) return undefined;
  if (!to.activations.isConverted(op.out) && !isReadInHalves(op.out, to)) return undefined;
  return { ops: [op], plan: () => to.activations.absorb(op) };
}

/**
 * Fuses products of the same few rows, such as queries' and gates', that no other rule has taken: apart, each would leave most of
 * a GPU idle. Their weights stay apart, so that products of many rows use the same memory.
 */
export function fuseMatvecGroup(op: Op, to: GpuPlanner): Fusion | undefined {
  if (op.kind !== 'matmul' || !to.has('matvecGroup') || !isGrouped(op, op, to)) return undefined;
  const products: MatmulOp[] = [];
  for (const reader of to.uses.readers(op.x)) {
    if (reader.kind !== 'matmul' || products.length === MAX_GROUPED || !isGrouped(reader, op, to)) continue;
    // Nothing reads an earlier product before the last one is computed.
    const place = to.uses.place(reader);
    const early = products.some(({ out }) => to.uses.readers(out).some((by) => to.uses.place(by) < place));
    if (!early) products.push(reader);
  }
  if (products.length < 2) return undefined;
  return { ops: products, plan: () => planMatvecGroup(op.x, products, to) };
}

/** True for a product of few rows by packed weights of the first one's format. */
function isGrouped(op: MatmulOp, first: MatmulOp, to: GpuPlanner): boolean {
  const { x, weight, bias } = op;
  const alike = weight.format === first.weight.format && isPacked(weight) && !bias;
  return alike && !to.taken.has(op) && to.hasMatvecRows(x);
}

function planMatvecGroup(x: Tensor, products: readonly MatmulOp[], to: GpuPlanner): void {
  const input = to.activations.quantizing(x, to.facts.buffers - 1 - 2 * products.length);
  to.add({ kind: 'matvecGroup', x: input, products });
}

/** Elements of a group that a warp normalizes in registers. */
const NORMED_UNIT = 32;
const MAX_NORMED = 512;

/** Fuses a norm with the gate on its result, as in gated delta nets. */
export function fuseGatedNorm(op: Op, to: GpuPlanner): Fusion | undefined {
  if (op.kind !== 'gated' || op.gate === op.up || !to.has('gatedNorm')) return undefined;
  const norm = to.uses.producer(op.up);
  if (norm?.kind !== 'rmsNorm' || !hasSharedWeight(norm) || to.uses.onlyReader(norm.out) !== op) {
    return undefined;
  }
  if (norm.size % NORMED_UNIT !== 0 || norm.size > MAX_NORMED) return undefined;
  return { ops: [norm, op], plan: () => planGatedNorm(op, norm, to) };
}

function planGatedNorm(op: GatedOp, norm: SharedWeightRmsNormOp, to: GpuPlanner): void {
  const left = to.activations.formLeft(op.out);
  const form = left === 'q8' ? 'f32' : left;
  to.add({ kind: 'gatedNorm', norm, op, y: to.activations.place(op.out, form), form });
}
