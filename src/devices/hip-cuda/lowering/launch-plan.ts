import type { Temporary } from '../../../device/index.ts';
import type { State, Tensor, Weight } from '../../../ops/index.ts';
import type { HipCudaTarget } from '../launching/kernel-set.ts';
import type { BlasShape } from '../launching/launch.ts';
import type { Arg } from './launch-template.ts';
import type { WeightLayout } from './weight-layout.ts';
import type { HipCudaWeight } from '../launching/kernel-set.ts';

/** An argument as operators give it. */
export type Operand = Tensor | State | HipCudaWeight | Temporary | Arg;

/** A launch before its scratch has a place. */
export interface LaunchPlan {
  readonly file: string;
  readonly kernel: string;
  readonly defines?: Readonly<Record<string, string | number>>;
  readonly grid: readonly [number, number?, number?];
  readonly block: number;
  readonly sharedBytes?: number;
  readonly args: readonly Operand[];
}

/** A product on the driver's BLAS library before its scratch has a place. */
export interface ProductPlan {
  readonly shape: BlasShape;
  readonly factor: number;
  /** Halves, halves of weights, f32 sums, workspace. */
  readonly args: readonly [Operand, Operand, Operand, Operand];
}

/** What plans launches for a graph asks and tells. */
export interface LaunchScope {
  readonly target: HipCudaTarget;
  /** Rows that a tensor has room for. */
  capacity(tensor: Tensor): number;
  /** The address of how many rows of the tensor are in use. */
  count(tensor: Tensor): Arg;
  /** Scratch of that many bytes. */
  temporary(byteLength: number): Temporary;
  /** The weights laid out together; naming the same ones in one layout twice gives the same value. */
  weight(parts: readonly Weight[], layout: WeightLayout): HipCudaWeight;
  launch(plan: LaunchPlan): void;
  multiply(plan: ProductPlan): void;
}
