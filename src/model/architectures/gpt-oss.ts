import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { mixtureOfExperts, requireExperts } from '../blocks/experts.ts';
import {
  attentionSpec,
  decoder,
  ownWindowRope,
  preNormLayer,
  readDecoder,
  WINDOW_ROPE,
} from '../stacks/decoder.ts';
import {
  count,
  expertMetadata,
  OUTPUT,
  QKV_BIASES,
  real,
  SHORT_WINDOW,
  text,
  wideHeads,
} from '../synthetic-family.ts';

/**
 * gpt-oss: a sliding window in every other layer, attention sinks, biases, and mixtures of experts with a clamped SwiGLU. The
 * routing weights are the softmax of the selected experts' logits, which equals the softmax over all experts divided by the
 * selected ones' sum (OpenAI 2025).
 */
export const gptOss: Architecture = {
  names: ['gpt-oss'],
  configure(read) {
    const experts = requireExperts(read, { normalized: true, settings: [] });
    const sizes = readDecoder(read, { hidden: experts.hidden });
    const { norm, rope } = sizes;
    const { keySize } = sizes.heads(0);
    if (rope.dimensions !== keySize) {
      read.refuse('rope.dimension_count', `${rope.dimensions}`, `${keySize}, as heads are wide`);
    }
    const window = read.count('attention.sliding_window');
    const windowed = read.windowed(2);
    const windowRope = ownWindowRope(read, sizes);
    const layerOf = (layer: number) => {
      const place = windowed(layer) && { window, ...(windowRope && { table: WINDOW_ROPE }) };
      return preNormLayer(
        norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox', hasSinks: 'always', ...place })),
        mixtureOfExperts({ ...experts, activation: 'swiglu_oai' }),
        'post_attention_norm',
      );
    };
    return decoder(sizes, layerOf, { windowRope });
  },
  synthetic: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      ...wideHeads(shape),
      'attention.sliding_window': count(SHORT_WINDOW),
      'rope.scaling.type': text('yarn'),
      'rope.scaling.factor': real(4),
      'rope.scaling.original_context_length': count(16),
    }),
    optional: [
      OUTPUT,
      ...QKV_BIASES,
      'attn_output.bias',
      'ffn_gate_inp.bias',
      'ffn_gate_exps.bias',
      'ffn_up_exps.bias',
      'ffn_down_exps.bias',
    ],
  },
};
