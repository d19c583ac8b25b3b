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
export interface HalfProductForm {
  readonly form: 'split' | 'rounded';
  readonly type: HalfType;
}

/** Elements of weights that a GPU reads in about the time that a launch takes. */
const SMALL_PRODUCT = 1 << 21;
/** The most elements of a weight of low rank, and how much longer one side is than the other. */
const LOW_RANK = { elements: SMALL_PRODUCT, ratio: 4 } as const;

/**
 * The form in which products by f16 or bf16 weights of more rows than matrix-vector kernels are best for read activations: few rows, which a
 * read of the weights bounds, in two matrices; more, which the matrix cores bound, rounded, by one weight and with the BLAS library.
 * Undefined for other products, of which those of `isElementTile` round activations themselves.
 */
export function halfForm(
  weights: readonly Weight[],
  to: GpuPlanner,
  rows: number,
): HalfProductForm | undefined {
  const [weight, ...others] = weights as [Weight];
  return others.length === 0 && isElementTile(weight, to, rows) ? undefined : formOfMany(weights, to, rows);
}

/**
 * Whether a product of so many rows is by a weight of low rank, such as a mixture's router, and one launch computes it with others like it:
 * alone, it would leave most of a GPU idle.
 */
export function isElementTile(weight: Weight, to: GpuPlanner, rows: number): boolean {
  const { elementTiles } = to.facts;
  const { format } = weight;
  const computes = elementTiles?.formats.includes(format.name) && to.has('elementProducts');
  if (!elementTiles || !computes || !isLowRank(weight)) return false;
  const { least, most } = elementTiles.rows;
  const rounds = !(format.name in HALF_TYPES) || formOfMany([weight], to, rows)?.form === 'rounded';
  return rows >= least && rows <= most && rounds;
}

/** Whether a weight is of low rank: small, and longer on one side. */
export function isLowRank({ columns, rows }: Weight): boolean {
  const [short, long] = [Math.min(columns, rows), Math.max(columns, rows)];
  return short * long <= LOW_RANK.elements && short * LOW_RANK.ratio <= long;
}

function formOfMany(weights: readonly Weight[], to: GpuPlanner, rows: number): HalfProductForm | undefined {
  const [{ format }] = weights as [Weight];
  const whole = weights.every(({ columns, rows: outputs }) =>
    [columns, outputs].every((size) => size % LIBRARY_ROW_UNIT === 0),
  );
  const type = whole ? HALF_TYPES[format.name] : undefined;
  if (!type) return undefined;
  if (fitsSplitKernels(type, weights, to, rows)) return { form: 'split', type };
  const fits = rows > to.facts.fewRows && weights.length === 1;
  return fits && to.has('round') && to.has('roundedProduct') ? { form: 'rounded', type } : undefined;
}

function fitsSplitKernels(type: HalfType, weights: readonly Weight[], to: GpuPlanner, rows: number): boolean {
  const { splitKernels } = to.facts;
  if (!splitKernels || !to.has('splitProduct') || !to.has('splitHalves')) return false;
  const { least, rows: most, types, weights: stacked } = splitKernels;
  const elements = weights.reduce((sum, weight) => sum + weight.columns * weight.rows, 0);
  // Small products of few rows are bound by the number of launches, which others need fewer of.
  const gains = rows > to.facts.fewRows || elements > SMALL_PRODUCT;
  return gains && types.includes(type) && weights.length <= stacked && rows >= least && rows <= most;
}

/**
 * Whether all readers of a tensor are products by f16 or bf16 weights that read one form and type. Those of few rows that no rule has taken
 * yet may still be launched with others, which read f32.
 */
export function isReadInHalves(tensor: Tensor, to: GpuPlanner): boolean {
  const areKnown = !to.hasFewRows(tensor) || to.uses.readers(tensor).every((reader) => to.taken.has(reader));
  return areKnown && formOfReaders(tensor, to) !== undefined;
}

/** The type to which a tensor is rounded for all of its readers; undefined if others read it. */
export function roundedFor(tensor: Tensor, to: GpuPlanner): HalfType | undefined {
  const read = formOfReaders(tensor, to);
  return read?.form === 'rounded' ? read.type : undefined;
}

function formOfReaders(tensor: Tensor, to: GpuPlanner): HalfProductForm | undefined {
  const forms = to.uses
    .readers(tensor)
    .map((reader) =>
      reader.kind === 'matmul' ? halfForm([reader.weight], to, to.capacity(tensor)) : undefined,
    );
  const [first] = forms;
  return forms.every((of) => of?.form === first?.form && of?.type === first?.type) ? first : undefined;
}
