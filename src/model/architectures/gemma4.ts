import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { denseBesideExperts } from '../blocks/dense-beside-experts.ts';
import { readExperts } from '../blocks/experts.ts';
import { feedForward, type FeedForwardSpec } from '../blocks/feed-forward.ts';
import { perLayerInput } from '../blocks/per-layer-input.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { LayerSpec } from '../model-config.ts';
import {
  type AttentionTraits,
  attentionSpec,
  decoder,
  type DecoderSizes,
  readDecoder,
  sandwichNormLayer,
  unscaledRope,
  WINDOW_ROPE,
} from '../stacks/decoder.ts';
import {
  count,
  counts,
  expertMetadata,
  isSmall,
  real,
  SHORT_WINDOW,
  type SyntheticShape,
} from '../synthetic-family.ts';

/** Soft cap of the logits if the file has none, as in llama.cpp. */
const LOGIT_CAP = 30;

/**
 * Gemma 4: Gemma 3 with wider heads in the layers without a window, which use their keys as values; normalized values,
 * scaled layers, and in the models with experts a mixture beside the feed-forward. In the E models, each layer also reads
 * values of its own that depend on the token, and the last layers attend to caches of earlier ones (Gemma team 2026).
 */
export const gemma4: Architecture = {
  names: ['gemma4'],
  configure(read) {
    const routed = readExperts(read, { normalized: true, settings: [] });
    const experts = routed && ({ ...routed, activation: 'gelu_tanh', scales: true } as const);
    const sizes = readDecoder(read, { hidden: routed?.hidden });
    const { norm, width } = sizes;
    const window = read.count('attention.sliding_window');
    const windowed = read.windowed(6);
    const local = readWindowHeads(read, sizes);
    const cacheOf = readSharedCaches(read, sizes.layers, windowed);
    const perLayer = read.countOrZero('embedding_length_per_layer_input');
    const traits: AttentionTraits = {
      ...{ pairs: 'neox', scale: 1, keysAsValues: true },
      queryNorm: { norm, of: 'head' },
      valueNorm: norm,
    };
    const layerOf = (layer: number): LayerSpec => {
      const heads = sizes.heads(layer);
      const block = windowed(layer)
        ? attention(
            attentionSpec(
              { ...heads, ...local.sizes },
              { ...traits, window, table: WINDOW_ROPE, cacheOf: cacheOf(layer) },
            ),
          )
        : attention(attentionSpec(heads, { ...traits, cacheOf: cacheOf(layer) }));
      const hidden = sizes.hidden(layer);
      const dense: FeedForwardSpec = { form: 'gated', hidden, activation: 'gelu_tanh', scales: true };
      const { sublayers } = sandwichNormLayer(norm, block, feedForward(dense));
      const input = perLayer > 0 && {
        block: perLayerInput({ width: perLayer }),
        outputNorm: { ...norm, name: 'post_norm' },
      };
      if (!experts) return { sublayers: input ? [...sublayers, input] : sublayers, scaled: 'result' };
      if (input) read.refuse('expert_count', `${experts.count}`, '0 beside per-layer embeddings');
      const both = { block: denseBesideExperts({ norm, dense, experts }), preNorm: undefined };
      return {
        sublayers: sublayers.map((half, i) => (i === 0 ? half : { ...half, ...both })),
        scaled: 'result',
      };
    };
    return decoder(sizes, layerOf, {
      scale: Math.fround(Math.sqrt(width)),
      softCap: read.real('final_logit_softcapping', LOGIT_CAP) || undefined,
      windowRope: local.rope,
      ...(perLayer > 0 && { perLayer: { width: perLayer, layers: sizes.layers, norm } }),
    });
  },
  synthetic: {
    metadata: (shape) => {
      const size = shape.headSize ?? (2 * shape.width) / shape.heads;
      const period = isOfE(shape) ? 2 : shape.layers < 12 ? 3 : 6;
      const isGlobal = (layer: number) => (layer + 1) % period === 0;
      return {
        ...(shape.experts && expertMetadata(shape)),
        embedding_length_per_layer_input: count(isOfE(shape) ? 16 : 0),
        ...(isOfE(shape) && {
          'attention.shared_kv_layers': count(shape.layers - 2 * Math.ceil(shape.layers / 4)),
        }),
        'attention.head_count_kv': counts(shape.layers, (layer) =>
          isGlobal(layer) ? Math.ceil(shape.kvHeads / 4) : shape.kvHeads,
        ),
        'attention.key_length': count(2 * size),
        'attention.value_length': count(2 * size),
        'attention.key_length_swa': count(size),
        'attention.value_length_swa': count(size),
        'attention.sliding_window': count(isSmall(shape) ? SHORT_WINDOW : 1024),
        'attention.sliding_window_pattern': counts(shape.layers, (layer) => (isGlobal(layer) ? 0 : 1)),
        'rope.dimension_count': count(2 * size),
        'rope.dimension_count_swa': count(size),
        'rope.freq_base_swa': real(1000),
        final_logit_softcapping: real(30),
      };
    },
    optional: [
      'rope_freqs.weight',
      'layer_output_scale.weight',
      'blk.0.attn_v.weight',
      'blk.1.attn_v.weight',
      'ffn_gate_up_exps.weight',
      'ffn_down_exps.scale',
    ],
  },
};

/** Synthetic models of four layers and more, without experts, are E models: half of their layers share caches. */
function isOfE({ layers, experts }: SyntheticShape): boolean {
  return layers >= 4 && experts === undefined;
}

/**
 * The earlier layer whose cache a layer attends to, if it has none of its own: the last one of its kind that has. llama.cpp finds
 * it by its place instead; files in which the two differ are refused.
 */
export function readSharedCaches(
  read: ConfigReader,
  layers: number,
  windowed: (layer: number) => boolean,
): (layer: number) => number | undefined {
  const key = 'attention.shared_kv_layers';
  const owners = layers - read.countOrZero(key);
  const isPaired = owners >= 2 && windowed(owners - 2) && !windowed(owners - 1);
  if (owners < layers && !isPaired) {
    const expected = 'such that the last two layers before them are one with a window and one without';
    read.refuse(key, `${layers - owners}`, expected);
  }
  return (layer) => (layer < owners ? undefined : owners - (windowed(layer) ? 2 : 1));
}

/** The head sizes and RoPE of layers with a window. */
function readWindowHeads(read: ConfigReader, sizes: DecoderSizes) {
  const heads = sizes.heads(0);
  if (heads.keySize !== heads.valueSize) {
    read.refuse('attention.value_length', `${heads.valueSize}`, `${heads.keySize}, as keys have`);
  }
  const size = read.count('attention.key_length_swa', heads.keySize);
  const valueSize = read.count('attention.value_length_swa', size);
  if (valueSize !== size) read.refuse('attention.value_length_swa', `${valueSize}`, `${size}, as keys have`);
  return {
    sizes: { keySize: size, valueSize: size },
    rope: unscaledRope({
      dimensions: read.count('rope.dimension_count_swa', size),
      base: read.real('rope.freq_base_swa', 10_000, true),
      scaling: sizes.fileRope.scaling,
    }),
  };
}
