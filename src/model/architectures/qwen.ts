import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { OUTPUT } from '../synthetic-family.ts';

/** Qwen 1: Llama with NeoX RoPE; files give the joint width of gate and up (Bai et al. 2023). */
export const qwen: Architecture = {
  names: ['qwen'],
  configure(read) {
    const sizes = readDecoder(read);
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox' })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer) / 2, activation: 'silu' }),
      ),
    );
  },
  synthetic: { optional: [OUTPUT, 'attn_qkv.weight', 'attn_qkv.bias'] },
};
