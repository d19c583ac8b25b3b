import { invariant } from '../../../base/errors.ts';
import { ActivationForms, type Temporary } from '../../../device/index.ts';
import type { RmsNormOp, Tensor } from '../../../ops/index.ts';
import type { LaunchScope, Operand } from './launch-plan.ts';
import { float, int, NULL } from './launch-template.ts';
import { canStage, halvesBytes, quantizedBytes, rowBucket } from './matvec-shape.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

/** What a matrix-vector kernel reads its activations from. */
export type MatvecInput =
  | { readonly kind: 'quantized'; readonly x: Operand }
  | { readonly kind: 'floats'; readonly x: Operand }
  | { readonly kind: 'normed'; readonly x: Operand; readonly norm: Operand; readonly epsilon: number };

/** Activations whose products with halves are as exact as in f32. */
export interface SplitHalves {
  readonly high: Temporary;
  readonly low: Temporary;
  readonly scales: Temporary;
}

/** Kernels quantize for themselves up to here; more rows are quantized once for all blocks. */
const ROWS_QUANTIZED_INSIDE = 2;

/** Makes activations into the forms that kernels read. */
export class Activations extends ActivationForms<'quantized' | 'halves'> {
  readonly #to: LaunchScope;
  readonly #split = new Map<Tensor, SplitHalves>();

  constructor(to: LaunchScope) {
    super((tensor, form) => {
      const bytesOf = form === 'halves' ? halvesBytes : quantizedBytes;
      return to.temporary(bytesOf(to.capacity(tensor), tensor.width));
    });
    this.#to = to;
  }

  /** The form in which kernels for the matrix cores read a tensor. */
  halves(x: Tensor): Temporary {
    const known = this.madeOf(x, 'halves');
    if (known) return known;
    const norm = this.normOf(x);
    const out = this.provide(x, 'halves');
    this.#to.launch({
      file: 'to-halves.hip',
      kernel: 'to_halves',
      defines: { NORMED: norm ? 1 : 0 },
      grid: [this.#to.capacity(x)],
      block: 256,
      args: [
        this.#to.count(x),
        norm ? norm.x : x,
        norm ? this.#to.weight([norm.weight], FLOAT_LAYOUT) : NULL,
        out,
        int(x.width),
        float(norm?.epsilon ?? 0),
      ],
    });
    return out;
  }

  /** The tensor as two matrices of halves, and the rows' scales: see `split-halves.hip`. */
  split(x: Tensor): SplitHalves {
    const known = this.#split.get(x);
    if (known) return known;
    const rows = this.#to.capacity(x);
    const [high, low] = [2 * rows * x.width, 2 * rows * x.width].map((bytes) => this.#to.temporary(bytes));
    const made = { high, low, scales: this.#to.temporary(4 * rows) } as SplitHalves;
    this.#to.launch({
      file: 'split-halves.hip',
      kernel: 'split_halves',
      grid: [rows],
      block: 256,
      args: [this.#to.count(x), x, made.high, made.low, made.scales, int(x.width)],
    });
    this.#split.set(x, made);
    return made;
  }

  /** The form in which matrix-vector kernels read a tensor. */
  input(x: Tensor): MatvecInput {
    const quantized = this.madeOf(x, 'quantized');
    if (quantized) return { kind: 'quantized', x: quantized };
    const norm = this.normOf(x);
    const capacity = this.#to.capacity(x);
    if (rowBucket(capacity) <= ROWS_QUANTIZED_INSIDE && canStage(this.#to, capacity, x.width)) {
      if (!norm) return { kind: 'floats', x };
      const weight = this.#to.weight([norm.weight], FLOAT_LAYOUT);
      return { kind: 'normed', x: norm.x, norm: weight, epsilon: norm.epsilon };
    }
    return { kind: 'quantized', x: norm ? this.#normQuantized(norm) : this.#quantize(x) };
  }

  #quantize(x: Tensor): Temporary {
    const rows = this.#to.capacity(x);
    const out = this.provide(x, 'quantized');
    this.#to.launch({
      file: 'quantize.hip',
      kernel: 'quantize_rows',
      grid: [Math.ceil((rows * x.width) / 8 / 128)],
      block: 128,
      args: [this.#to.count(x), x, out, int(rows), int(x.width / 32)],
    });
    return out;
  }

  #normQuantized({ x, weight, epsilon, out: normed }: RmsNormOp): Temporary {
    invariant(weight.columns === x.width, 'only norms of whole rows are absorbed');
    const rows = this.#to.capacity(x);
    const out = this.provide(normed, 'quantized');
    this.#to.launch({
      file: 'norm-quantize.hip',
      kernel: 'norm_quantize',
      grid: [rows],
      block: 256,
      args: [
        this.#to.count(x),
        x,
        this.#to.weight([weight], FLOAT_LAYOUT),
        out,
        int(rows),
        int(x.width / 32),
        float(epsilon),
      ],
    });
    return out;
  }
}
