import { invariant } from '../../../base/errors.ts';
import type { ProductInput } from '../../../device/index.ts';
import type { Tensor } from '../../../ops/index.ts';
import { loopFor } from '../kernels/library/loop.ts';
import { QUANTIZED } from '../kernels/library/quantize.ts';
import { reduceText } from '../kernels/library/reduce.ts';
import type { Wgsl } from '../kernels/library/wgsl.ts';
import { QUANTIZED_BEFORE, QUANTIZED_HERE, X4_ALIGNED, X4_UNALIGNED } from '../kernels/matvec.ts';
import { loadRowText, ownHalves, quantizeRowText } from '../kernels/quantize.ts';
import type { Constant } from '../launching/kernel-module.ts';
import { type Argument, type LaunchScope, read } from './launch-plan.ts';
import { quantizedScalesAt } from './staging.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

/** Threads of the kernels that norm what they read. */
const THREADS = 256;

/** Arguments, texts and constants of a kernel that belong together. */
export interface KernelPart {
  readonly args: Readonly<Record<string, Argument>>;
  readonly texts: readonly Wgsl[];
  readonly constants: Readonly<Record<string, Constant>>;
}

/** How a product by weights of so many columns that multiplies integers gets at the activations of as many rows as `of` has. */
export function integerInput(
  input: ProductInput,
  { of, columns }: { readonly of: Tensor; readonly columns: number },
  to: LaunchScope,
): KernelPart {
  if (input.form !== 'f32') {
    return {
      args: { x: read(input.x, 'array<vec4<u32>>') },
      texts: [QUANTIZED_BEFORE, QUANTIZED],
      constants: { X_SCALES_AT: quantizedScalesAt(to.capacity(of), of.width) },
    };
  }
  const raw = quantizedRows(input, columns, to);
  return { ...raw, texts: [QUANTIZED_HERE, QUANTIZED, ...raw.texts] };
}

/** Rows of f32 that a workgroup quantizes: `quantize_row`. */
export function quantizedRows(
  input: Pick<ProductInput & { form: 'f32' }, 'x' | 'norm'>,
  columns: number,
  to: LaunchScope,
): KernelPart {
  const raw = rawInput(input, columns, to);
  const quantize = quantizeRowText(ownHalves(columns, THREADS), loopFor(to.target));
  const pairs = reduceText(to.target, { team: 2, threads: THREADS, name: 'pair' });
  return { ...raw, texts: [...raw.texts, quantize, pairs] };
}

/** Rows of f32 of so many columns, with the norm that is computed of them first where there is one: `load_row`. */
export function rawInput(
  { x, norm }: Pick<ProductInput & { form: 'f32' }, 'x' | 'norm'>,
  columns: number,
  to: LaunchScope,
): KernelPart {
  const load = loadRowText(
    { own: ownHalves(columns, THREADS), normed: norm !== undefined },
    loopFor(to.target),
  );
  const constants = { EPSILON: { f32: norm?.epsilon ?? 0 } };
  const plain = { x: read(x, 'array<vec4<f32>>') };
  if (!norm) return { args: plain, texts: [load], constants };
  invariant(norm.size === x.width, 'only norms of whole rows are absorbed');
  return {
    args: { ...plain, norm_weight: { ...to.vector(norm.weight, FLOAT_LAYOUT), type: 'array<vec4<f32>>' } },
    texts: [load, reduceText(to.target, { team: THREADS, threads: THREADS, name: 'all' })],
    constants,
  };
}

/** Activations four at a time: `x4(row, quad)`. */
export function numberInput({ x }: Pick<ProductInput, 'x'>, columns: number): KernelPart {
  const aligned = columns % 4 === 0;
  return {
    args: { x: read(x, aligned ? 'array<vec4<f32>>' : 'array<f32>') },
    texts: [aligned ? X4_ALIGNED : X4_UNALIGNED],
    constants: { QUADS: Math.ceil(columns / 4), COLUMNS: columns },
  };
}
