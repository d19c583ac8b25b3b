import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, parallelLayer, readDecoder } from '../stacks/decoder.ts';
import { real } from '../synthetic-family.ts';

/**
 * Command R: parallel sublayers after one layer norm, and a factor on the logits (Cohere 2024). Command R+ has Q/K
 * norms, which are not supported: its files are refused.
 */
export const commandR: Architecture = {
  names: ['command-r'],
  configure(read) {
    const sizes = readDecoder(read, { norm: 'layer' });
    return decoder(
      sizes,
      (layer) =>
        parallelLayer(
          sizes.norm,
          attention(attentionSpec(sizes.heads(layer), { pairs: 'interleaved' })),
          feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
        ),
      { logitScale: read.real('logit_scale', 1, true) },
    );
  },
  synthetic: { metadata: () => ({ logit_scale: real(0.25) }) },
};
