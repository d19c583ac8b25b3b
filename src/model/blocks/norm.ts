import { layerNorm, rmsNorm } from '../../ops/norm.ts';
import type { Tensor } from '../../ops/value.ts';
import type { PartScope } from '../part-scope.ts';

/** How activations are normalized: by root mean square, or by mean and variance with a bias, which some files lack. */
export type Norm =
  | { readonly kind: 'rms'; readonly epsilon: number }
  | { readonly kind: 'layer'; readonly epsilon: number; readonly bias: 'always' | 'if there' };

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
  const name = nameOf(scope, { name: first, otherwise: second });
  const weight = scope.weight(bare ? name : `${name}.weight`, 1, size);
  const { epsilon } = norm;
  if (norm.kind === 'rms') return rmsNorm(scope.g, x, weight, epsilon);
  const bias =
    norm.bias === 'always' ? scope.weight(`${name}.bias`, 1, size) : scope.optional(`${name}.bias`, 1, size);
  return layerNorm(scope.g, x, { weight, epsilon, ...(bias && { bias }) });
}

/** The name of the norm that the file has. */
export function nameOf(
  scope: PartScope,
  { name, otherwise = name }: Pick<NamedNorm, 'name' | 'otherwise'>,
): string {
  return scope.has(`${name}.weight`) ? name : otherwise;
}
