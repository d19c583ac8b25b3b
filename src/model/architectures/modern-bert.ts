import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import type { ConfigReader } from '../config-reader.ts';
import { groupsOf, type LayerSpec } from '../model-config.ts';
import { ROPE, unscaledRope, WINDOW_ROPE } from '../stacks/decoder.ts';
import { embeddingHead, readPooling } from '../stacks/embedding-head.ts';
import { count, flag, real, SHORT_WINDOW } from '../synthetic-family.ts';

/** Activations of the gated feed-forward, as files name them. */
const ACTIVATIONS: Readonly<Record<string, 'gelu_tanh' | 'silu'>> = {
  gelu: 'gelu_tanh',
  geglu: 'gelu_tanh',
  silu: 'silu',
  swish: 'silu',
  swiglu: 'silu',
};

/**
 * ModernBERT: pre-norms (none in the first layer), a gated feed-forward, and symmetric windows with their own RoPE
 * frequencies in two of three layers (Warner et al. 2024).
 */
export const modernBert: Architecture = {
  names: ['modern-bert'],
  configure(read) {
    const [width, heads] = [read.count('embedding_length'), read.count('attention.head_count')];
    const trainedContext = read.count('context_length');
    const size = width / heads;
    const norm = {
      kind: 'layer',
      epsilon: read.real('attention.layer_norm_epsilon'),
      bias: 'if there',
    } as const;
    const rope = read.rope(size, trainedContext);
    const window = read.countOrZero('attention.sliding_window');
    const windowed = read.windowed(3, 'first');
    const block = feedForward({
      form: 'fused',
      hidden: read.count('feed_forward_length'),
      activation: activationOf(read),
    });
    const heading = { heads, kvHeads: heads, keySize: size, valueSize: size, scale: 1 / Math.sqrt(size) };
    const layerOf = (layer: number): LayerSpec => {
      const isLocal = window > 0 && windowed(layer);
      const rotation = { table: isLocal ? WINDOW_ROPE : ROPE, pairs: 'neox' } as const;
      const reach = isLocal ? { reach: Math.floor(window / 2) } : {};
      const mixing = attention({ ...heading, ...reach, bidirectional: true, rope: rotation });
      const preNorm = { ...norm, name: 'attn_norm' };
      return {
        sublayers: [
          { block: mixing, ...(layer > 0 && { preNorm }) },
          { block, preNorm: { ...norm, name: 'ffn_norm' } },
        ],
      };
    };
    const layers = Array.from({ length: read.count('block_count') }, (_, layer) => layerOf(layer));
    const windowBase = read.real('rope.freq_base_swa', 10_000);
    const embeds = embeddingHead(read, { pooling: readPooling(read) ?? 'none' });
    return {
      architecture: read.architecture,
      state: groupsOf(layers),
      width,
      trainedContext,
      bidirectional: true,
      embedding: {
        norm: { ...norm, name: 'token_embd_norm' },
        ropes: {
          [ROPE]: { parameters: rope },
          [WINDOW_ROPE]: { parameters: unscaledRope({ ...rope, base: windowBase }) },
        },
      },
      layers,
      ...embeds,
      head: { ...embeds.head, norm: { ...norm, name: 'output_norm' } },
    };
  },
  synthetic: {
    metadata: () => ({
      'attention.causal': flag(false),
      'attention.sliding_window': count(SHORT_WINDOW),
      'rope.freq_base_swa': real(1000),
      pooling_type: count(2),
    }),
    optional: ['attn_qkv.weight'],
  },
};

function activationOf(read: ConfigReader): 'gelu_tanh' | 'silu' {
  const key = 'hidden_activation';
  const name = read.text(key) ?? 'gelu';
  return (
    (Object.hasOwn(ACTIVATIONS, name) && ACTIVATIONS[name]) ||
    read.refuse(key, name, Object.keys(ACTIVATIONS).join(', '))
  );
}
