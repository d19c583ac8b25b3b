import type { Temporary } from '../../../device/index.ts';
import type { State, Tensor, Weight } from '../../../ops/index.ts';
import type { HipCudaTarget } from '../launching/kernel-set.ts';
import type { BlasShape } from '../launching/launch.ts';
import type { Arg, CollectiveTemplate } from './launch-template.ts';
import type { WeightLayout } from './weight-layout.ts';
import type { HipCudaWeight } from '../launching/kernel-set.ts';

/** An argument as given by operators. */
export type Operand = Tensor | State | HipCudaWeight | Temporary | Arg;

/** A launch before its scratch is placed. */
export interface LaunchPlan {
  readonly file: string;
  readonly kernel: string;
  readonly defines?: Readonly<Record<string, string | number>>;
  readonly grid: readonly [number, number?, number?];
  readonly block: number;
  readonly sharedBytes?: number;
  /** As in `KernelLaunch`. */
  readonly residentBlocks?: number;
  /** As in `LaunchShape`. */
  readonly cluster?: number;
  readonly args: readonly Operand[];
}

/** A product with the driver's BLAS library before its scratch is placed. */
export interface ProductPlan {
  readonly shape: BlasShape;
  readonly factor: number;
  /** Activations, weights, f32 sums, workspace, and what is added to the sums, which may be null. */
  readonly args: readonly [Operand, Operand, Operand, Operand, Operand];
}

/** A collective of the link's library before its scratch is placed. */
export interface CollectivePlan {
  readonly collective: CollectiveTemplate['collective'];
  /** From where, and to where. */
  readonly args: readonly [Operand, Operand];
}

/** A product's results in pieces that are not added up yet. */
export interface UnfinishedSums {
  /** Where the results are to stand. */
  readonly y: Operand;
  readonly pieces: Operand;
  /** How many pieces there are, and how many numbers one is behind the one before. */
  readonly count: number;
  readonly apart: number;
  /** What is added to them: a tensor, or biases if there are any. */
  readonly epilogue: 'residual' | 'store';
  readonly addend: Operand;
}

/** The interface for planning the launches of a graph. */
export interface LaunchScope {
  readonly target: HipCudaTarget;
  /** Row capacity of a tensor. */
  capacity(tensor: Tensor): number;
  /** The address of the number of a tensor's rows in use. */
  count(tensor: Tensor): Arg;
  /** Scratch of that many bytes. */
  temporary(byteLength: number): Temporary;
  /** Weights laid out together; the same weights in the same layout give the same value. */
  weight(parts: readonly Weight[], layout: WeightLayout): HipCudaWeight;
  launch(plan: LaunchPlan): void;
  multiply(plan: ProductPlan): void;
  collect(plan: CollectivePlan): void;
}
