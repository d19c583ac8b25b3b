import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { OUTPUT, QKV_BIASES } from '../synthetic-family.ts';

/** openPangu Embedded: Llama with NeoX RoPE and biases in attention (Huawei 2025). */
export const panguEmbed: Architecture = {
  names: ['pangu-embedded'],
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
  synthetic: { optional: [OUTPUT, ...QKV_BIASES, 'attn_output.bias'] },
};
