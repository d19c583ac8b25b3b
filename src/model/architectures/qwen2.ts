import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { OUTPUT, QKV_BIASES } from '../synthetic-family.ts';

/** Qwen 2 and 2.5: Llama with QKV biases and NeoX RoPE (Yang et al. 2024). */
export const qwen2: Architecture = {
  names: ['qwen2'],
  configure(read) {
    const sizes = readDecoder(read);
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox' })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      ),
    );
  },
  synthetic: { optional: [OUTPUT, ...QKV_BIASES] },
};
