import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import type { Block } from '../blocks/block.ts';
import { mixtureOfExperts, requireExperts } from '../blocks/experts.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { mamba2, readMamba2 } from '../blocks/mamba2.ts';
import type { ConfigReader } from '../config-reader.ts';
import { attentionSpec, decoder, type DecoderSizes, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import {
  count,
  expertMetadata,
  flag,
  inLayer,
  OUTPUT,
  real,
  type SyntheticShape,
} from '../synthetic-family.ts';
import { MAMBA2_OPTIONAL, mamba2Metadata } from './mamba.ts';

/**
 * Nemotron-H, Nemotron Nano 2 and 3 (NVIDIA 2025): each layer is one block: Mamba-2, attention without RoPE, or a feed-forward
 * with squared ReLU. Experts may work on a narrower latent stream ("LatentMoE").
 */
export const nemotronH: Architecture = {
  names: ['nemotron_h', 'nemotron_h_moe'],
  configure(read) {
    const sizes = readDecoder(read, { hybrid: true, epsilonKey: 'attention.layer_norm_epsilon' });
    const { norm } = sizes;
    const recurrence = mamba2({ ...readMamba2(read), norm });
    const mixtureOf = read.countOrZero('expert_count') > 0 ? readMixtures(read, sizes) : undefined;
    const attentionOf = (layer: number) => attention(attentionSpec(sizes.heads(layer), { pairs: undefined }));
    const blockOf = (layer: number): Block => {
      const hidden = sizes.hidden(layer);
      if (hidden > 0) {
        return (
          mixtureOf?.(layer) ??
          feedForward({ form: 'plain', hidden, activation: 'relu_squared', scales: true })
        );
      }
      return sizes.heads(layer).kvHeads === 0 ? recurrence : attentionOf(layer);
    };
    const layerOf = (layer: number) => ({
      sublayers: [{ preNorm: { ...norm, name: 'attn_norm' }, block: blockOf(layer) }],
    });
    const predictor = mixtureOf && {
      reads: 'normed' as const,
      layer: (layer: number) =>
        preNormLayer(norm, attentionOf(layer), mixtureOf(layer), 'post_attention_norm'),
      headNorm: {
        kind: 'layer',
        epsilon: read.real('attention.layer_norm_epsilon'),
        bias: 'if there',
      } as const,
    };
    return decoder(sizes, layerOf, { isRotary: false, predictor });
  },
  synthetic: {
    metadata: (shape) => ({ ...hybridMetadata(shape), ...(shape.experts && mixtureMetadata(shape)) }),
    optional: [OUTPUT, ...MAMBA2_OPTIONAL, 'exp_probs_b.bias'],
  },
};

/** The mixture of each layer, whose experts' width and number for a row may differ by layer (Nemotron 3 Puzzle). */
function readMixtures(read: ConfigReader, sizes: DecoderSizes): (layer: number) => Block {
  const latent = read.countOrZero('moe_latent_size') || undefined;
  const used = read.countsOrZero('expert_used_count');
  const width = 'expert_feed_forward_length';
  const widths = read.has(width) ? read.countsOrZero(width) : () => 0;
  return (layer) => {
    const topK = used(layer);
    const hidden = widths(layer) || sizes.hidden(layer) / topK;
    const experts = requireExperts(read, {
      gate: 'sigmoid',
      settings: ['normalized', 'scale'],
      topK,
      hidden,
    });
    return mixtureOfExperts({ ...experts, form: 'plain', activation: 'relu_squared', scales: true, latent });
  };
}

/** Attention in the last layer, a feed-forward in the one before it. */
function hybridMetadata(shape: SyntheticShape) {
  const { layers, kvHeads, hidden } = shape;
  return {
    ...mamba2Metadata(shape),
    'attention.head_count_kv': inLayer(layers - 1, kvHeads, layers),
    feed_forward_length: inLayer(layers - 2, hidden, layers),
  };
}

function mixtureMetadata(shape: SyntheticShape) {
  return {
    ...expertMetadata(shape),
    expert_shared_feed_forward_length: count(shape.hidden),
    expert_weights_norm: flag(true),
    expert_weights_scale: real(2.5),
    moe_latent_size: count(shape.width / 2),
  };
}
