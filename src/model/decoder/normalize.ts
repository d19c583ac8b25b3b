import { layerNorm, rmsNorm } from '../../ops/norm.ts';
import type { Tensor } from '../../ops/value.ts';
import type { PartScope } from '../architecture.ts';
import type { DecoderConfig } from './decoder-config.ts';

/** Normalizes by `<name>.weight` as the configuration says: whole rows, or groups of `size` values (RMS only). */
export function normalize(
  scope: PartScope<DecoderConfig>,
  x: Tensor,
  { name, size = x.width }: { name: string; size?: number },
): Tensor {
  const { g, config } = scope;
  const { norm, normEpsilon: epsilon } = config;
  const weight = scope.weight(`${name}.weight`, 1, size);
  if (norm === 'rms') return rmsNorm(g, x, weight, epsilon);
  const bias = scope.optional(`${name}.bias`, 1, size);
  return layerNorm(g, x, { weight, epsilon, ...(bias && { bias }) });
}
