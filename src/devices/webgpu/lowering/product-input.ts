import { invariant } from '../../../base/errors.ts';
import type { ProductInput } from '../../../device/index.ts';
import type { Tensor } from '../../../ops/index.ts';
import { QUANTIZE_GROUP } from '../kernels/library/quantize.ts';
import { reduceText } from '../kernels/library/reduce.ts';
import type { Wgsl } from '../kernels/library/wgsl.ts';
import { QUANTIZED_BEFORE, QUANTIZED_HERE, X4_ALIGNED, X4_UNALIGNED } from '../kernels/matvec.ts';
import { NORMED_INPUT, PLAIN_INPUT, QUANTIZED_INPUT } from '../kernels/quantize.ts';
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

/** How a product that multiplies integers gets at the activations of as many rows as `of` has. */
export function integerInput(input: ProductInput, of: Tensor, to: LaunchScope): KernelPart {
  if (input.form !== 'f32') {
    return {
      args: { x: read(input.x, 'array<vec4<u32>>') },
      texts: [QUANTIZED_BEFORE, QUANTIZE_GROUP],
      constants: { X_SCALES_AT: quantizedScalesAt(to.capacity(of), of.width) },
    };
  }
  const raw = rawInput(input, to);
  return { ...raw, texts: [QUANTIZED_HERE, QUANTIZE_GROUP, QUANTIZED_INPUT, ...raw.texts] };
}

/** Rows of f32, with the norm that is computed of them first where there is one. */
export function rawInput(
  { x, norm }: Pick<ProductInput & { form: 'f32' }, 'x' | 'norm'>,
  to: LaunchScope,
): KernelPart {
  const constants = { EPSILON: { f32: norm?.epsilon ?? 0 } };
  const plain = { x: read(x, 'array<vec4<f32>>') };
  if (!norm) return { args: plain, texts: [PLAIN_INPUT], constants };
  invariant(norm.size === x.width, 'only norms of whole rows are absorbed');
  return {
    args: { ...plain, norm_weight: { ...to.vector(norm.weight, FLOAT_LAYOUT), type: 'array<vec4<f32>>' } },
    texts: [NORMED_INPUT, reduceText(to.target, { team: THREADS, threads: THREADS, name: 'all' })],
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
