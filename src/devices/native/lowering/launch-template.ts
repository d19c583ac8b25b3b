import type { PackedWeight } from '../../../device/index.ts';
import type { State, Tensor } from '../../../ops/index.ts';
import type { KernelModule } from '../launching/launch.ts';

/**
 * Memory that a launch names before addresses are known: bound values and weights, the program's scratch; for the launches
 * of `NativeWeight.pack` the file's bytes and the bound weight.
 */
export type Place = Tensor | State | NativeWeight | 'scratch' | 'source' | 'target';

/** A kernel argument. */
export type Arg =
  | { readonly kind: 'address'; readonly of: Place; readonly offset: number }
  | { readonly kind: 'null' }
  | { readonly kind: 'i32'; readonly value: number }
  | { readonly kind: 'f32'; readonly value: number };

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

/** A packed weight with the launches that bring rows of a part, as the file's bytes, into its layout. */
export interface NativeWeight extends PackedWeight {
  pack(part: number, firstRow: number, rowCount: number): LaunchTemplate;
}

/** A whole-number argument. */
export function int(value: number): Arg {
  return { kind: 'i32', value };
}

/** A single-precision argument. */
export function float(value: number): Arg {
  return { kind: 'f32', value };
}

/** The null address. */
export const NULL: Arg = { kind: 'null' };
