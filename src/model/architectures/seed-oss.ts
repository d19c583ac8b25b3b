import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { OUTPUT, QKV_BIASES, wideHeads } from '../synthetic-family.ts';

/** Seed-OSS: Llama with NeoX RoPE and QKV biases (ByteDance 2025). */
export const seedOss: Architecture = {
  names: ['seed_oss'],
  configure(read) {
    const sizes = readDecoder(read);
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox' })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
        'post_attention_norm',
      ),
    );
  },
  synthetic: { metadata: wideHeads, optional: [OUTPUT, ...QKV_BIASES] },
};
