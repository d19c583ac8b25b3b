import type { RopeParameters } from '../../ops/rope.ts';
import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { expertsWhereRouted, requireExperts } from '../blocks/experts.ts';
import type { ConfigReader } from '../config-reader.ts';
import {
  attentionSpec,
  decoder,
  type DecoderSizes,
  preNormLayer,
  readDecoder,
  WINDOW_ROPE,
} from '../stacks/decoder.ts';
import {
  count,
  counts,
  expertMetadata,
  flag,
  real,
  reals,
  SHORT_WINDOW,
  OUTPUT,
} from '../synthetic-family.ts';

/**
 * Step 3.5: sliding windows in most layers, with more heads and another RoPE there; without a window, half as many values
 * of a head are rotated. Attention is gated head by head, and some layers limit their SwiGLU (StepFun 2026).
 */
export const step35: Architecture = {
  names: ['step35'],
  configure(read) {
    const experts = requireExperts(read, { gate: 'sigmoid' });
    if (experts.sharedHidden === 0) {
      read.refuse('expert_shared_feed_forward_length', '0', 'a shared expert, as all published files have');
    }
    const sizes = readDecoder(read, { hidden: experts.hidden });
    const { norm } = sizes;
    const window = read.count('attention.sliding_window');
    const pattern = 'attention.sliding_window_pattern';
    const windowed = read.layerFlags(pattern) ?? read.refuse(pattern, 'nothing', 'a value for each layer');
    const [limit, sharedLimit] = [read.reals('swiglu_clamp_exp', 0), read.reals('swiglu_clamp_shexp', 0)];
    const layerOf = (layer: number) => {
      const place = windowed(layer) && { window, table: WINDOW_ROPE };
      const traits = {
        pairs: 'neox',
        queryNorm: { norm, of: 'head', missing: 'allowed' },
        outputGate: 'attn_gate by head',
        ...place,
      } as const;
      const limits = { limit: limit(layer), sharedLimit: sharedLimit(layer) };
      return preNormLayer(
        norm,
        attention(attentionSpec(sizes.heads(layer), traits)),
        expertsWhereRouted(
          { ...experts, ...limits, activation: 'silu' },
          { form: 'gated', hidden: sizes.hidden(layer), activation: 'silu', limit: limits.sharedLimit },
        ),
      );
    };
    const ropes = readRopes(read, sizes);
    return decoder({ ...sizes, rope: ropes.whole }, layerOf, {
      windowRope: ropes.window,
      predictor: { reads: 'residual', layer: layerOf },
      ropeFactors: Math.max(ropes.whole.dimensions, ropes.window.dimensions) / 2,
    });
  },
  synthetic: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      expert_shared_feed_forward_length: count(24),
      expert_weights_norm: flag(true),
      expert_weights_scale: real(1.5),
      'attention.head_count': counts(shape.layers, (layer) => (layer % 3 === 0 ? 1 : 2) * shape.heads),
      'attention.key_length': count((2 * shape.width) / shape.heads),
      'attention.value_length': count((2 * shape.width) / shape.heads),
      'attention.sliding_window': count(SHORT_WINDOW),
      'attention.sliding_window_pattern': counts(shape.layers, (layer) => (layer % 3 === 0 ? 0 : 1)),
      'rope.freq_base_swa': real(1000),
      swiglu_clamp_exp: reals(shape.layers, (layer) => (layer === 1 ? 0.05 : 0)),
      swiglu_clamp_shexp: reals(shape.layers, (layer) => (layer === 0 ? 0 : 0.1)),
    }),
    optional: [
      OUTPUT,
      'rope_freqs.weight',
      'attn_q_norm.weight',
      'attn_k_norm.weight',
      'attn_gate.weight',
      'exp_probs_b.bias',
      ...['blk.1', 'blk.2'].map((layer) => `${layer}.ffn_gate_inp.weight`),
    ],
  },
};

/** The RoPE of layers without a window, and of those with one. */
function readRopes(
  read: ConfigReader,
  { rope, fileRope }: DecoderSizes,
): Record<'whole' | 'window', RopeParameters> {
  const { dimensions, scaling } = rope;
  if (dimensions % 4 !== 0) read.refuse('rope.dimension_count', `${dimensions}`, 'a multiple of 4');
  if (scaling.kind === 'yarn') read.refuse('rope.scaling.type', scaling.kind, 'factors, linear or none');
  return {
    whole: { ...rope, dimensions: dimensions / 2 },
    window: {
      dimensions: read.count('rope.dimension_count_swa', dimensions),
      base: read.real('rope.freq_base_swa', fileRope.base, true),
      scaling: { kind: 'none' },
    },
  };
}
