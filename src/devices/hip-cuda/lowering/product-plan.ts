import type { Tensor, Weight } from '../../../ops/index.ts';
import type { Operand } from './launch-plan.ts';

/** What a product's kernel makes of its sums; the numbers are `product.hip`'s and `finish-product.hip`'s. */
export const PRODUCT_OUTPUT = { floats: 0, residual: 1, gatedHalves: 2, gated: 3 } as const;

/** A product over weights that lie one below the other; `x` tells the rows, `outputs` counts one part's where there are two. */
export interface Product {
  readonly x: Tensor;
  readonly weights: readonly Weight[];
  readonly outputs: number;
  readonly output: keyof typeof PRODUCT_OUTPUT;
  readonly y: Operand;
  readonly addend?: Operand;
  readonly activation?: number;
}
