import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, parallelLayer, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { flag, halfRotated, LAYER_NORM_BIASES, OUTPUT } from '../synthetic-family.ts';

/**
 * GPT-NeoX, Pythia, Dolly: layer norms and biases everywhere; sublayers are parallel if the file says so, otherwise
 * sequential (Black et al. 2022).
 */
export const gptneox: Architecture = {
  names: ['gptneox'],
  configure(read) {
    const sizes = readDecoder(read, { norm: 'layer' });
    const layerOf = read.flag('use_parallel_residual', true) ? parallelLayer : preNormLayer;
    return decoder(sizes, (layer) =>
      layerOf(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox' })),
        feedForward({ form: 'plain', hidden: sizes.hidden(layer), activation: 'gelu_tanh' }),
        'ffn_norm',
      ),
    );
  },
  synthetic: {
    metadata: (shape) => ({ ...halfRotated(shape), use_parallel_residual: flag(true) }),
    optional: [
      OUTPUT,
      ...LAYER_NORM_BIASES,
      'attn_qkv.weight',
      'attn_qkv.bias',
      'attn_output.bias',
      'ffn_up.bias',
      'ffn_down.bias',
    ],
  },
};
