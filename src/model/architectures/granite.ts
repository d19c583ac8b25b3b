import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import type { Block } from '../blocks/block.ts';
import { expertsOrDense, readExperts } from '../blocks/experts.ts';
import { mamba2, readMamba2 } from '../blocks/mamba2.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { ModelConfig } from '../model-config.ts';
import {
  attentionSpec,
  decoder,
  type DecoderSizes,
  fileScale,
  preNormLayer,
  readDecoder,
  scaledLayer,
} from '../stacks/decoder.ts';
import {
  count,
  keyHeadsInLast,
  OUTPUT,
  real,
  type SyntheticShape,
  wideExperts,
} from '../synthetic-family.ts';
import { MAMBA2_OPTIONAL, mamba2Metadata } from './mamba.ts';

/**
 * Granite 3 and 4 without recurrence, dense or with experts: Llama with factors on the embeddings, the sublayers'
 * outputs, the scores and the logits (IBM 2024, after "μP", Yang et al. 2022). Files of models without positions mark
 * RoPE as unused.
 */
export const granite: Architecture = {
  names: ['granite', 'granitemoe'],
  configure: (read) => compose(read, readDecoder(read)),
  synthetic: { metadata: factors, optional: [OUTPUT] },
};

/** Granite 4 "H": Granite with Mamba-2 in place of attention in layers without KV heads (IBM 2025). */
export const graniteHybrid: Architecture = {
  names: ['granitehybrid'],
  configure(read) {
    const sizes = readDecoder(read, { hybrid: true });
    return compose(read, sizes, mamba2({ ...readMamba2(read), norm: sizes.norm }));
  },
  synthetic: {
    metadata: (shape) => ({ ...factors(shape), ...mamba2Metadata(shape), ...keyHeadsInLast(shape) }),
    optional: [OUTPUT, ...MAMBA2_OPTIONAL],
  },
};

function compose(read: ConfigReader, sizes: DecoderSizes, recurrence?: Block): ModelConfig {
  // llama.cpp reads this switch of the others alone.
  const isRotary = read.architecture === 'granitemoe' || read.flag('rope.scaling.finetuned', true);
  const experts = readExperts(read, { normalized: true, hidden: sizes.hidden(0), settings: [] });
  const factor = read.real('residual_scale', 1, true);
  const mixer = (layer: number): Block => {
    const heads = sizes.heads(layer);
    if (recurrence && heads.kvHeads === 0) return recurrence;
    const scale = fileScale(read, heads);
    return attention(attentionSpec(heads, { pairs: isRotary ? 'interleaved' : undefined, scale }));
  };
  const layerOf = (layer: number) =>
    preNormLayer(
      sizes.norm,
      mixer(layer),
      expertsOrDense(experts, layer, { hidden: sizes.hidden(layer), activation: 'silu' }),
    );
  return decoder(sizes, (layer) => scaledLayer(layerOf(layer), factor), {
    isRotary,
    scale: read.real('embedding_scale', 1, true),
    logitScale: 1 / read.real('logit_scale', 1, true),
  });
}

function factors(shape: SyntheticShape) {
  return {
    ...(shape.experts && {
      ...wideExperts(shape),
      expert_shared_feed_forward_length: count(shape.hidden),
    }),
    embedding_scale: real(12),
    residual_scale: real(0.22),
    'attention.scale': real(0.2),
    logit_scale: real(0.5),
  };
}
