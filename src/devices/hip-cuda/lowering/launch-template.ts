import type { Address } from '../../../device/index.ts';
import type { State, Tensor } from '../../../ops/index.ts';
import type { HipCudaWeight } from '../launching/kernel-set.ts';
import type { BlasShape, KernelModule } from '../launching/launch.ts';

/** Memory that a launch refers to before addresses are known: bound values and weights, the program's scratch. */
export type Place = Tensor | State | HipCudaWeight | 'scratch';

/** A kernel argument. */
export type Arg =
  | { readonly kind: 'address'; readonly of: Place; readonly offset: number }
  | { readonly kind: 'null' }
  /** Memory that is not the graph's, at an address that is known already. */
  | { readonly kind: 'device'; readonly address: Address }
  | { readonly kind: 'i32'; readonly value: number }
  | { readonly kind: 'f32'; readonly value: number };

/**
 * A product with the driver's BLAS library before its addresses are known: activations, weights, f32 sums, workspace, and what is
 * added to the sums, which may be null.
 */
export interface ProductTemplate {
  readonly shape: BlasShape;
  readonly factor: number;
  readonly args: readonly Arg[];
}

/** A collective of the link's library before its addresses are known: from where, and to where. */
export interface CollectiveTemplate {
  readonly collective:
    | { readonly kind: 'allReduce'; readonly count: number }
    | { readonly kind: 'allGather'; readonly counts: readonly number[] };
  readonly args: readonly Arg[];
}

/** A kernel launch: `grid` blocks of `block` threads, `sharedBytes` of dynamic shared memory per block. */
export interface LaunchTemplate {
  readonly module: KernelModule;
  readonly kernel: string;
  readonly grid: readonly [number, number, number];
  readonly block: number;
  readonly sharedBytes: number;
  readonly residentBlocks?: number | undefined;
  readonly cluster?: number | undefined;
  readonly args: readonly Arg[];
  readonly programmatic: boolean;
}

/** Any launch before its addresses are known. */
export type AnyTemplate = LaunchTemplate | ProductTemplate | CollectiveTemplate;

/** An integer argument. */
export function int(value: number): Arg {
  return { kind: 'i32', value };
}

/** A single-precision argument. */
export function float(value: number): Arg {
  return { kind: 'f32', value };
}

/** The null address. */
export const NULL: Arg = { kind: 'null' };
