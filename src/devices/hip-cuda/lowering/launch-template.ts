import type { PackedWeight } from '../../../device/index.ts';
import type { TensorFormat } from '../../../formats/index.ts';
import type { State, Tensor } from '../../../ops/index.ts';
import type { BlasShape, KernelModule } from '../launching/launch.ts';

/**
 * Memory that a launch names before addresses are known: bound values and weights, the program's scratch; for the launches
 * of `HipCudaWeight.pack` the file's bytes and the bound weight.
 */
export type Place = Tensor | State | HipCudaWeight | 'scratch' | 'source' | 'target';

/** A kernel argument. */
export type Arg =
  | { readonly kind: 'address'; readonly of: Place; readonly offset: number }
  | { readonly kind: 'null' }
  | { readonly kind: 'i32'; readonly value: number }
  | { readonly kind: 'i64'; readonly value: number }
  | { readonly kind: 'f32'; readonly value: number };

/** A product on the driver's BLAS library before its addresses are known: halves, halves of weights, f32 sums, workspace. */
export interface ProductTemplate {
  readonly shape: BlasShape;
  readonly factor: number;
  readonly args: readonly Arg[];
}

/** One kernel execution: `grid` blocks of `block` threads, `sharedBytes` of dynamic shared memory a block. */
export interface LaunchTemplate {
  readonly module: KernelModule;
  readonly kernel: string;
  readonly grid: readonly [number, number, number];
  readonly block: number;
  readonly sharedBytes: number;
  readonly args: readonly Arg[];
  readonly programmatic: boolean;
}

/** Rows of a part, in the part's format unless another is named. */
export interface RowRange {
  readonly firstRow: number;
  readonly rowCount: number;
  readonly format?: TensorFormat | undefined;
}

/** A packed weight with the way in which rows of a part, as the file's bytes, come into its layout. */
export interface HipCudaWeight extends PackedWeight {
  /** What decodes rows of another format than the part's on their way into the layout; absent or undefined where nothing does. */
  decodes?(part: number, format: TensorFormat): KernelModule | undefined;
  /** The launch that lays rows out, or, where the layout's bytes are the file's, how far into the weight they belong. */
  pack(part: number, rows: RowRange): LaunchTemplate | number;
}

/** A whole-number argument. */
export function int(value: number): Arg {
  return { kind: 'i32', value };
}

/** A whole-number argument beyond 32 bits. */
export function long(value: number): Arg {
  return { kind: 'i64', value };
}

/** A single-precision argument. */
export function float(value: number): Arg {
  return { kind: 'f32', value };
}

/** The null address. */
export const NULL: Arg = { kind: 'null' };
