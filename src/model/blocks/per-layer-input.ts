import { add, gated, scale } from '../../ops/elementwise.ts';
import { slice } from '../../ops/slice.ts';
import type { Tensor } from '../../ops/value.ts';
import { PER_LAYER_TABLE } from '../embedding-place.ts';
import type { PartScope } from '../part-scope.ts';
import type { Block } from './block.ts';
import { linear } from './linear.ts';
import { type Norm, normalize } from './norm.ts';

/**
 * Per-layer embeddings (Gemma 3n): each layer reads `width` values of a row, which are the sum of a second embedding's and of a
 * projection of the first one's.
 */
export interface PerLayerSpec {
  readonly width: number;
  readonly layers: number;
  /** Norm of each layer's part of the projection. */
  readonly norm: Norm;
}

/** The name of the values for all layers among those that layers share. */
export const PER_LAYER = 'per layer';

/**
 * The values of all layers, f32 [rows, layers * width], from token ids and their scaled embeddings `x`. Weights:
 * `per_layer_token_embd`, `per_layer_model_proj`, `per_layer_proj_norm`.
 */
export function recordPerLayer(
  scope: PartScope,
  { width, layers, norm }: PerLayerSpec,
  { ids, x }: { readonly ids: Tensor; readonly x: Tensor },
): Tensor {
  const { g } = scope;
  const all = layers * width;
  const embedded = scale(g, scope.embed(ids, PER_LAYER_TABLE, all), Math.sqrt(width));
  const projected = linear(scope, x, { name: 'per_layer_model_proj', rows: all, scale: 'never' });
  const scaled = scale(g, projected, 1 / Math.sqrt(x.width));
  const normed = normalize(scope, scaled, { ...norm, name: 'per_layer_proj_norm' }, width);
  return scale(g, add(g, normed, embedded), Math.SQRT1_2);
}

/** The product of a layer's values with a gate that the stream opens, projected back to the stream's width. */
export type PerLayerInputBlock = Block<'per-layer input', Pick<PerLayerSpec, 'width'>>;

/** Creates the block; its weights are `inp_gate` and `proj`. */
export function perLayerInput({ width }: Pick<PerLayerSpec, 'width'>): PerLayerInputBlock {
  return {
    kind: 'per-layer input',
    spec: { width },
    record: (scope, x, { index, shared }) => {
      const { g } = scope;
      const all = shared.get(PER_LAYER) as Tensor;
      const own = slice(g, all, { offset: index * width, width });
      const gate = linear(scope, x, { name: 'inp_gate', rows: width, scale: 'never' });
      return linear(scope, gated(g, 'gelu_tanh', gate, own), { name: 'proj', rows: x.width, scale: 'never' });
    },
  };
}
