import type { Tensor, Weight } from '../../ops/index.ts';
import type { HalfType } from './intent.ts';
import { LIBRARY_ROW_UNIT } from './planned-activations.ts';
import type { GpuPlanner } from './planner.ts';

/** The weights that are multiplied as the file has them by activations of their type. */
const HALF_TYPES: Readonly<Record<string, HalfType>> = { F16: 'f16', BF16: 'bf16' };

/**
 * What products by f16 or bf16 weights read of activations: two matrices of the type, which are as accurate as f32 together, or
 * nearly, or each number rounded once.
 */
export interface HalfForm {
  readonly form: 'split' | 'rounded';
  readonly type: HalfType;
}

/**
 * The form in which products by f16 or bf16 weights of more rows than matrix-vector kernels take read activations: few rows, which a
 * read of the weights bounds, in two matrices; more, which the matrix cores bound, rounded, by one weight and with the BLAS library.
 * Undefined for other products.
 */
export function halfForm(weights: readonly Weight[], to: GpuPlanner, rows: number): HalfForm | undefined {
  const [{ format }] = weights as [Weight];
  const whole = weights.every(({ columns, rows: outputs }) =>
    [columns, outputs].every((size) => size % LIBRARY_ROW_UNIT === 0),
  );
  const type = whole && rows > to.facts.matvecRows ? HALF_TYPES[format.name] : undefined;
  if (!type) return undefined;
  if (fitsSplitKernels(type, weights, to, rows)) return { form: 'split', type };
  const rounds = weights.length === 1 && to.has('round') && to.has('roundedProduct');
  return rounds ? { form: 'rounded', type } : undefined;
}

function fitsSplitKernels(type: HalfType, weights: readonly Weight[], to: GpuPlanner, rows: number): boolean {
  const { splitKernels } = to.facts;
  if (!splitKernels || !to.has('splitProduct') || !to.has('splitHalves')) return false;
  const fits = splitKernels.types.includes(type) && weights.length <= splitKernels.weights;
  return fits && rows <= splitKernels.rows;
}

/** Whether all readers of a tensor are products by f16 or bf16 weights that read one form and type. */
export function isReadInHalves(tensor: Tensor, to: GpuPlanner): boolean {
  return formOfReaders(tensor, to) !== undefined;
}

/** The type to which a tensor is rounded for all of its readers; undefined if others read it. */
export function roundedFor(tensor: Tensor, to: GpuPlanner): HalfType | undefined {
  const read = formOfReaders(tensor, to);
  return read?.form === 'rounded' ? read.type : undefined;
}

function formOfReaders(tensor: Tensor, to: GpuPlanner): HalfForm | undefined {
  const forms = to.uses
    .readers(tensor)
    .map((reader) =>
      reader.kind === 'matmul' ? halfForm([reader.weight], to, to.capacity(tensor)) : undefined,
    );
  const [first] = forms;
  return forms.every((of) => of?.form === first?.form && of?.type === first?.type) ? first : undefined;
}
