import { invariant } from '../../../base/errors.ts';
import { ActivationForms, type Temporary } from '../../../device/index.ts';
import type { Tensor } from '../../../ops/index.ts';
import { QUAD_HALVES } from '../kernels/library/quad-halves.ts';
import { QUANTIZE_GROUP } from '../kernels/library/quantize.ts';
import { reduceText } from '../kernels/library/reduce.ts';
import type { Wgsl } from '../kernels/library/wgsl.ts';
import { QUANTIZED_BEFORE, QUANTIZED_HERE } from '../kernels/matvec.ts';
import {
  HALVE_ROWS,
  NORMED_INPUT,
  PLAIN_INPUT,
  QUANTIZE_ROWS,
  QUANTIZED_INPUT,
} from '../kernels/quantize.ts';
import type { Constant } from '../launching/kernel-module.ts';
import { type Argument, type LaunchScope, type Operand, read, write } from './launch-plan.ts';
import { quantizedBytes, quantizedScalesAt, rowBucket } from './matvec-shape.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

/** Kernels quantize for themselves up to here; more rows are quantized once for all workgroups. */
const ROWS_QUANTIZED_INSIDE = 2;
/** Workgroup memory of a kernel beside the staged activations. */
const OTHER_WORKGROUP_BYTES = 4096;
const THREADS = 256;

/** How an integer product gets at its activations: arguments, texts and constants of its kernel. */
export interface ProductInput {
  readonly args: Readonly<Record<string, Argument>>;
  readonly texts: readonly Wgsl[];
  readonly constants: Readonly<Record<string, Constant>>;
}

/** Makes activations into the forms that kernels read. */
export class Activations extends ActivationForms<'quantized' | 'halves'> {
  readonly #to: LaunchScope;

  constructor(to: LaunchScope) {
    super((tensor, form) => {
      const rows = to.capacity(tensor);
      const { width } = tensor;
      return to.temporary(form === 'halves' ? 2 * rows * width : quantizedBytes(rows, width));
    });
    this.#to = to;
  }

  /** A tensor as halves, in rows of whole groups. */
  halves(x: Tensor): Temporary {
    return this.madeOf(x, 'halves') ?? this.#convert(x, 'halves');
  }

  /** A tensor in quantized form, made where it does not exist yet. */
  quantized(x: Tensor): Temporary {
    return this.madeOf(x, 'quantized') ?? this.#convert(x, 'quantized');
  }

  /** How an integer product reads a tensor, with at most `buffers` bound for it. */
  input(x: Tensor, buffers: number): ProductInput {
    const norm = this.normOf(x);
    const inside = !this.madeOf(x, 'quantized') && this.#fitsInside(x) && buffers >= (norm ? 2 : 1);
    if (!inside) return this.#before(x, this.quantized(x));
    return {
      args: this.#rawArgs(x),
      texts: [QUANTIZED_HERE, QUANTIZE_GROUP, QUANTIZED_INPUT, ...this.#rawTexts(x)],
      constants: { EPSILON: { f32: norm?.epsilon ?? 0 } },
    };
  }

  #before(x: Tensor, made: Operand): ProductInput {
    return {
      args: { x: read(made, 'array<vec4<u32>>') },
      texts: [QUANTIZED_BEFORE, QUANTIZE_GROUP],
      constants: { X_SCALES_AT: quantizedScalesAt(this.#to.capacity(x), x.width) },
    };
  }

  #fitsInside(x: Tensor): boolean {
    const rows = rowBucket(this.#to.capacity(x));
    const bytes = quantizedBytes(rows, x.width) + OTHER_WORKGROUP_BYTES;
    return rows <= ROWS_QUANTIZED_INSIDE && bytes <= this.#to.target.workgroupBytes;
  }

  /** The tensor, or what it is the norm of, with the norm's factors. */
  #rawArgs(x: Tensor): Record<string, Argument> {
    const norm = this.normOf(x);
    if (!norm) return { x: read(x, 'array<vec4<f32>>') };
    invariant(norm.weight.columns === x.width, 'only norms of whole rows are absorbed');
    return {
      x: read(norm.x, 'array<vec4<f32>>'),
      factors: { ...this.#to.vector(norm.weight, FLOAT_LAYOUT), type: 'array<vec4<f32>>' },
    };
  }

  #rawTexts(x: Tensor): Wgsl[] {
    if (!this.normOf(x)) return [PLAIN_INPUT];
    return [NORMED_INPUT, reduceText(this.#to.target, { team: THREADS, threads: THREADS, name: 'all' })];
  }

  #convert(x: Tensor, form: 'quantized' | 'halves'): Temporary {
    const made = this.provide(x, form);
    const norm = this.normOf(x);
    const capacity = this.#to.capacity(x);
    const halves = form === 'halves';
    const name = halves ? 'halve' : 'quantize';
    this.#to.launch({
      name: norm ? `norm_${name}` : name,
      texts: [
        ...(halves ? [HALVE_ROWS, QUAD_HALVES] : [QUANTIZE_ROWS, QUANTIZE_GROUP, QUANTIZED_INPUT]),
        ...this.#rawTexts(x),
      ],
      constants: {
        THREADS,
        COUNT: this.#to.countOf(x),
        GROUPS: x.width / 32,
        EPSILON: { f32: norm?.epsilon ?? 0 },
        Y_SCALES_AT: quantizedScalesAt(capacity, x.width),
      },
      args: {
        counts: this.#to.counts,
        ...this.#rawArgs(x),
        y: write(made, halves ? 'array<vec2<u32>>' : 'array<u32>'),
      },
      grid: [capacity],
    });
    return made;
  }
}
