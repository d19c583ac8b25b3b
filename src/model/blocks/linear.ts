import { add, mul } from '../../ops/elementwise.ts';
import { matmul } from '../../ops/matmul.ts';
import type { GraphBuilder } from '../../ops/graph.ts';
import type { Tensor, Weight } from '../../ops/value.ts';
import { recordAdapters } from './adapters.ts';
import type { PartScope } from '../part-scope.ts';

/** The name of a product's weight, its rows, how the file's scale of it is applied, and whether the bias is required. */
interface LinearOptions {
  readonly name: string;
  readonly rows: number;
  readonly scale?: 'before' | 'after' | 'never';
  readonly bias?: 'always' | 'if there';
}

/**
 * Multiplies by `<name>.weight`, with the file's optional `<name>.bias` and `<name>.scale`. The scale (one value,
 * written for NVFP4 weights) belongs to the weight and is applied `before` the bias, unless the files were made for
 * llama.cpp's feed-forward, which applies it `after` the bias, or not at all (`never`). The rows' adapters are added
 * last.
 */
export function linear(scope: PartScope, x: Tensor, of: LinearOptions): Tensor {
  const adapted = recordAdapters(scope, x, of);
  const product = recordProduct(scope, x, of);
  return adapted ? add(scope.g, product, adapted) : product;
}

function recordProduct(scope: PartScope, x: Tensor, of: LinearOptions): Tensor {
  const weight = scope.weight(`${of.name}.weight`, of.rows, x.width);
  const find = of.bias === 'always' ? 'weight' : 'optional';
  const bias = scope[find](`${of.name}.bias`, 1, of.rows);
  const { scale: order = 'before' } = of;
  const scale = order === 'never' ? undefined : scope.optional(`${of.name}.scale`, 1, 1);
  if (scale && order === 'after') return mul(scope.g, matmul(scope.g, x, weight, bias), scale);
  return scaledProduct(scope.g, x, { weight, bias, scale });
}

/** `(x * weight) * scale + bias`, without the parts that the file lacks. */
export function scaledProduct(
  g: GraphBuilder,
  x: Tensor,
  { weight, bias, scale }: { weight: Weight; bias: Weight | undefined; scale: Weight | undefined },
): Tensor {
  if (!scale) return matmul(g, x, weight, bias);
  const scaled = mul(g, matmul(g, x, weight), scale);
  return bias ? add(g, scaled, bias) : scaled;
}
