import type { Tensor, Weight } from '../../ops/index.ts';
import { packedGroups } from '../packing/packed-groups.ts';
import type { GpuFacts } from './facts.ts';
import type { Temporary } from './graph-lowering.ts';
import type { GraphUses } from './graph-uses.ts';
import type { ActivationForm, Intent } from './intent.ts';

/** True for quantized weights, which are multiplied as integers. */
export function isPacked({ format }: Weight): boolean {
  return packedGroups(format) !== undefined;
}

/** The interface of a plan's parts to the plan. */
export interface PlanScope {
  readonly facts: GpuFacts;
  readonly uses: GraphUses;
  /** Row capacity of a tensor. */
  capacity(tensor: Tensor): number;
  /** True for a tensor with few enough rows for the kernels of few rows, but for those of packed weights. */
  hasFewRows(tensor: Tensor): boolean;
  /** True for a tensor with few enough rows for matrix-vector kernels of packed weights. */
  hasMatvecRows(tensor: Tensor): boolean;
  /** The form in which a product of so many rows, more than matrix-vector kernels take, by packed weights reads activations. */
  productForm(weights: readonly Weight[], rows: number): ActivationForm;
  /** Scratch of that many bytes. */
  temporary(byteLength: number): Temporary;
  add(intent: Intent): void;
}
