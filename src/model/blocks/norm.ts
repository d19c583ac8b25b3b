import { add, mul, scale, unary } from '../../ops/elementwise.ts';
import { combineExperts } from '../../ops/experts/combine-experts.ts';
import type { GraphBuilder } from '../../ops/graph.ts';
import { l2Norm } from '../../ops/group-norm.ts';
import { layerNorm, rmsNorm } from '../../ops/norm.ts';
import type { Tensor } from '../../ops/value.ts';
import type { PartScope } from '../part-scope.ts';

/**
 * How activations are normalized: by root mean square, seldom with a bias (PhiMoE), or by mean and variance with a bias, which
 * some files lack.
 */
export type Norm =
  | {
      readonly kind: 'rms';
      readonly epsilon: number;
      readonly bias?: 'always';
      /** `none` if the norm has no weight (Muse Glimmer's embeddings, Talkie). */
      readonly factors?: 'none';
    }
  | {
      readonly kind: 'layer';
      readonly epsilon: number;
      readonly bias: 'always' | 'if there';
      /** `none` if the norm has neither weight nor bias (OLMo 1). */
      readonly factors?: 'none';
    };

/** A norm and the name of its weight within the part: `<name>.weight`, or the bare name. */
export type NamedNorm = Norm & {
  readonly name: string;
  readonly bare?: boolean;
  /** The name of the norm that takes its place in files without it (Falcon 7B). Default: all files have it. */
  readonly otherwise?: string;
};

/** Normalizes whole rows by the norm's weight, or groups of `size` values. */
export function normalize(
  scope: PartScope,
  x: Tensor,
  { name: first, otherwise: second = first, bare, ...norm }: NamedNorm,
  size = x.width,
): Tensor {
  const { epsilon } = norm;
  if (norm.factors === 'none') {
    const read = norm.kind === 'rms' ? x : withoutMean(scope.g, x);
    return l2Norm(scope.g, read, { by: 'rms', size, epsilon });
  }
  const name = nameOf(scope, { name: first, otherwise: second });
  const weight = scope.weight(bare ? name : `${name}.weight`, 1, size);
  if (norm.kind === 'rms') {
    const scaled = rmsNorm(scope.g, x, weight, epsilon);
    return norm.bias ? add(scope.g, scaled, scope.weight(`${name}.bias`, 1, size)) : scaled;
  }
  const bias =
    norm.bias === 'always' ? scope.weight(`${name}.bias`, 1, size) : scope.optional(`${name}.bias`, 1, size);
  return layerNorm(scope.g, x, { weight, epsilon, ...(bias && { bias }) });
}

/** Subtracts each row's mean. Composed of other operators: norms of OLMo 1 alone have nothing to multiply by. */
function withoutMean(g: GraphBuilder, x: Tensor): Tensor {
  const ones = unary(g, 'exp', scale(g, x, 0));
  const mean = combineExperts(g, x, scale(g, ones, 1 / x.width));
  return add(g, x, mul(g, scale(g, ones, -1), mean));
}

/** The name of the norm that the file has. */
export function nameOf(
  scope: PartScope,
  { name, otherwise = name }: Pick<NamedNorm, 'name' | 'otherwise'>,
): string {
  return scope.has(`${name}.weight`) ? name : otherwise;
}
