import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import {
  attentionSpec,
  decoder,
  ownWindowRope,
  readDecoder,
  ROPE,
  sandwichNormLayer,
  WINDOW_ROPE,
} from '../stacks/decoder.ts';
import { count, OUTPUT, real, SHORT_WINDOW, wideHeads } from '../synthetic-family.ts';

/** Every so many layers, one has neither a window nor RoPE. */
const PERIOD = 4;

/** The epsilon of the norms behind sublayers, which files do not store. */
const OUTPUT_EPSILON = 1e-8;

/**
 * Muse Glimmer: normalized embeddings, norms before and after each sublayer, Q/K norms, gated attention with sliding windows except
 * in every fourth layer, which has no RoPE, and factor and cap of the logits. The graph and the names are llama.cpp's.
 */
export const museGlimmer: Architecture = {
  names: ['muse-glimmer'],
  configure(read) {
    const sizes = readDecoder(read);
    const { norm } = sizes;
    const window = read.count('attention.sliding_window');
    const windowed = read.windowed(PERIOD);
    const windowRope = ownWindowRope(read, sizes, false);
    const local = { window, pairs: 'interleaved', table: windowRope ? WINDOW_ROPE : ROPE } as const;
    const traits = { pairs: undefined, queryNorm: { norm, of: 'head' }, outputGate: 'attn_gate' } as const;
    const layerOf = (layer: number) => {
      const { sublayers } = sandwichNormLayer(
        norm,
        attention(attentionSpec(sizes.heads(layer), { ...traits, ...(windowed(layer) && local) })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      );
      const behind = (name: string) => ({ kind: 'rms', epsilon: OUTPUT_EPSILON, name }) as const;
      const names = ['post_attention_norm', 'post_ffw_norm'] as const;
      return {
        sublayers: sublayers.map((sublayer, i) => ({
          ...sublayer,
          outputNorm: behind(names[i === 0 ? 0 : 1]),
        })),
      };
    };
    return decoder(sizes, layerOf, {
      windowRope,
      norm: { kind: 'rms', epsilon: norm.epsilon, name: 'embedding', factors: 'none' },
      logitScale: read.real('logit_scale'),
      softCap: read.real('final_logit_softcapping', 0) || undefined,
    });
  },
  synthetic: {
    metadata: (shape) => ({
      ...wideHeads(shape),
      'attention.sliding_window': count(SHORT_WINDOW),
      'rope.freq_base_swa': real(1000),
      logit_scale: real(0.5),
      final_logit_softcapping: real(2),
    }),
    optional: [OUTPUT],
  },
};
