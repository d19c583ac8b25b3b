import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { mamba2, readMamba2 } from '../blocks/mamba2.ts';
import { attentionSpec, decoder, readDecoder } from '../stacks/decoder.ts';
import { OUTPUT, wideHeads } from '../synthetic-family.ts';
import { MAMBA2_OPTIONAL, mamba2Metadata } from './mamba.ts';

/**
 * Falcon-H1 (TII 2025): attention and Mamba-2 in parallel on one norm, then a feed-forward. Converters fold the model's multipliers
 * into its weights.
 */
export const falconH1: Architecture = {
  names: ['falcon-h1'],
  configure(read) {
    const sizes = readDecoder(read);
    const { norm } = sizes;
    const recurrence = mamba2({ ...readMamba2(read), norm });
    return decoder(sizes, (layer) => {
      const entering = { ...norm, name: 'attn_norm' };
      const spec = attentionSpec(sizes.heads(layer), { pairs: 'neox' });
      const hidden = sizes.hidden(layer);
      return {
        sublayers: [
          { preNorm: entering, block: attention(spec) },
          { preNorm: entering, block: recurrence, reads: 'layer' },
          {
            preNorm: { ...norm, name: 'ffn_norm', bare: true },
            block: feedForward({ form: 'gated', hidden, activation: 'silu' }),
          },
        ],
      };
    });
  },
  synthetic: {
    metadata: (shape) => ({ ...wideHeads(shape), ...mamba2Metadata(shape) }),
    optional: [OUTPUT, ...MAMBA2_OPTIONAL],
  },
};
