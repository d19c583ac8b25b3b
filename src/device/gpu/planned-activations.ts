import { alignUp } from '../../base/bytes.ts';
import { invariant } from '../../base/errors.ts';
import type { GatedOp, SharedWeightRmsNormOp, Tensor, UnaryOp } from '../../ops/index.ts';
import type { Temporary } from './graph-lowering.ts';
import type { ActivationForm, HalfForm, HalfType, ProductInput, RoundedRows, SplitHalves } from './intent.ts';
import { isPacked, type PlanScope } from './plan-scope.ts';

/** Up to here, kernels quantize rows themselves; more rows are quantized once for all workgroups. */
const ROWS_QUANTIZED_INSIDE = 2;
/** Size of a quantization group, the unit in which kernels write forms other than f32. */
const GROUP = 32;
/** Alignment of f16 rows for BLAS libraries, in elements. */
export const LIBRARY_ROW_UNIT = 8;
/** Rows whose core matrices stand together: `SLAB_ROWS` of the kernels. */
const CORE_MATRIX_ROWS = 64;

/** Bytes of q8 rows: 32 quants, and a scale with two sums, per group. */
export function q8Bytes(rows: number, columns: number): number {
  return rows * (columns / GROUP) * 40;
}

/** The number of rows for which a matrix-vector kernel is compiled, given a batch's capacity and a maximum. */
export function rowBucket(capacity: number, max: number): number {
  return 2 ** Math.ceil(Math.log2(Math.min(capacity, max)));
}

/**
 * Tracks the forms in which activations exist, so that each is computed at most once and norms are fused where
 * possible.
 */
export class PlannedActivations {
  readonly #norms = new Map<Tensor, SharedWeightRmsNormOp>();
  readonly #made = {
    q8: new Map<Tensor, Temporary>(),
    f16: new Map<Tensor, Temporary>(),
    'core-matrices': new Map<Tensor, Temporary>(),
  };
  /** Those in f16 whose rows are several, by how many. */
  readonly #parts = new Map<Temporary, number>();
  readonly #split = { f16: new Map<Tensor, SplitHalves>(), bf16: new Map<Tensor, SplitHalves>() };
  readonly #rounded = { f16: new Map<Tensor, RoundedRows>(), bf16: new Map<Tensor, RoundedRows>() };
  readonly #applied = new Map<Tensor, GatedOp | UnaryOp>();
  readonly #to: PlanScope;

  constructor(to: PlanScope) {
    this.#to = to;
  }

  /** Marks a norm as fused: its consumers normalize themselves, or convert its result. */
  absorb(norm: SharedWeightRmsNormOp): void {
    invariant(norm.size === norm.x.width, 'only norms of whole rows are absorbed');
    this.#norms.set(norm.out, norm);
  }

  /** Marks a function, or gate and up, as fused with the rounding: only products of rounded rows read the result. */
  absorbFunction(op: GatedOp | UnaryOp): void {
    this.#applied.set(op.out, op);
  }

  /**
   * Memory for a tensor in a form, to be filled by an intent before anything reads it; f16 rows may be several `parts` that
   * are padded each.
   */
  provide(tensor: Tensor, form: 'q8' | HalfForm, parts = 1): Temporary {
    const capacity = this.#to.capacity(tensor);
    const rows = form === 'core-matrices' ? alignUp(capacity, CORE_MATRIX_ROWS) : capacity;
    const { width } = tensor;
    const f16Bytes = 2 * rows * parts * alignUp(width / parts, this.#to.facts.f16RowUnit);
    const made = this.#to.temporary(form === 'q8' ? q8Bytes(rows, width) : f16Bytes);
    this.#made[form].set(tensor, made);
    this.#parts.set(made, parts);
    return made;
  }

  /** Memory for a result in the form in which it is written. */
  place(tensor: Tensor, form: ActivationForm, parts = 1): Tensor | Temporary {
    return form === 'f32' ? tensor : this.provide(tensor, form, parts);
  }

  /** A tensor in a form, converted by a separate launch if it does not exist yet. */
  as(x: Tensor, form: 'q8' | HalfForm, parts = 1): Temporary {
    const known = this.#made[form].get(x);
    if (known && (form === 'q8' || this.#parts.get(known) === parts)) return known;
    const y = this.provide(x, form, parts);
    const norm = this.#norms.get(x);
    this.#to.add({ kind: 'convert', x: norm?.x ?? x, norm, form, parts, y });
    return y;
  }

  /** How a product of few rows reads a tensor that it multiplies as integers, with so many buffers left to bind. */
  quantizing(x: Tensor, buffers: number): ProductInput {
    const norm = this.#norms.get(x);
    const fits = this.isQuantizedInside(x) && buffers >= (norm ? 2 : 1);
    if (this.#made.q8.has(x) || !fits) return { form: 'q8', x: this.as(x, 'q8') };
    return { form: 'f32', x: norm?.x ?? x, norm };
  }

  /** The tensor rounded to f16 or bf16. */
  round(x: Tensor, type: HalfType): RoundedRows {
    const known = this.#rounded[type].get(x);
    if (known) return known;
    const y = this.provideRounded(x, type);
    this.#to.add({ kind: 'round', of: this.#norms.get(x) ?? this.#applied.get(x) ?? x, y });
    return y;
  }

  /** Memory for a tensor rounded to a type, to be filled by an intent before anything reads it. */
  provideRounded(x: Tensor, type: HalfType): RoundedRows {
    const y = { type, memory: this.#to.temporary(2 * this.#to.capacity(x) * x.width) };
    this.#rounded[type].set(x, y);
    return y;
  }

  /** The tensor as two matrices of f16 or bf16. */
  split(x: Tensor, type: HalfType): SplitHalves {
    const known = this.#split[type].get(x);
    if (known) return known;
    const rows = this.#to.capacity(x);
    const half = () => this.#to.temporary(2 * rows * x.width);
    const y = { type, high: half(), low: half(), scales: this.#to.temporary(4 * rows) };
    const norm = this.#norms.get(x);
    this.#to.add({ kind: 'splitHalves', x: norm?.x ?? x, norm, y });
    this.#split[type].set(x, y);
    return y;
  }

  /** The form in which all readers of a tensor read it: f32 unless all are packed products that read the same. */
  formRead(tensor: Tensor): ActivationForm {
    const forms = this.#formsRead(tensor);
    const [first = 'f32'] = forms;
    return forms.every((form) => form === first) ? first : 'f32';
  }

  /** Whether all readers of a tensor are packed products that read other forms than f32, each perhaps its own. */
  isConverted(tensor: Tensor): boolean {
    const forms = this.#formsRead(tensor);
    return forms.length > 0 && forms.every((form) => form !== 'f32');
  }

  #formsRead(tensor: Tensor): readonly ActivationForm[] {
    const rows = this.#to.capacity(tensor);
    const isMatvec = this.#to.hasMatvecRows(tensor);
    return this.#to.uses.readers(tensor).map((reader) => {
      if (reader.kind !== 'matmul' || !isPacked(reader.weight)) return 'f32';
      return isMatvec ? 'q8' : this.#to.productForm([reader.weight], rows);
    });
  }

  /** The best form in which a kernel can write a result: the one its readers need, if rows are whole groups. */
  formLeft(tensor: Tensor): ActivationForm {
    const form = this.formRead(tensor);
    const isHalf = form === 'f16' || form === 'core-matrices';
    const unit = isHalf ? Math.max(GROUP, this.#to.facts.f16RowUnit) : GROUP;
    return tensor.width % unit === 0 ? form : 'f32';
  }

  /** Whether matrix-vector kernels can quantize a tensor's rows themselves. */
  isQuantizedInside(x: Tensor): boolean {
    const { stagedBytes } = this.#to.facts;
    const capacity = this.#to.capacity(x);
    const rows = rowBucket(capacity, capacity);
    return rows <= ROWS_QUANTIZED_INSIDE && q8Bytes(rows, x.width) <= stagedBytes;
  }
}
