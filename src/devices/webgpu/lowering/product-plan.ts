import type { Activation, Tensor, Weight } from '../../../ops/index.ts';
import type { ADDENDS } from '../kernels/finish.ts';
import type { Argument, Operand } from './launch-plan.ts';

/** A product for more rows than the matrix-vector kernels take, over weights that lie one below the other. */
export interface Product {
  readonly x: Tensor;
  readonly weights: readonly Weight[];
  readonly y: Operand;
  readonly addend?: Argument | undefined;
  readonly kind: keyof typeof ADDENDS;
  /** Gate and up are the two weights, and this is done to the gate. */
  readonly gated?: Activation;
  /** What `y` is to hold: halves only where the product is computed on matrix units. */
  readonly form?: 'floats' | 'halves';
}
