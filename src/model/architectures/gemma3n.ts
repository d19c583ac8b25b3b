import { add } from '../../ops/elementwise.ts';
import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import type { Block } from '../blocks/block.ts';
import { linear } from '../blocks/linear.ts';
import { type Norm, normalize } from '../blocks/norm.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { LayerSpec } from '../model-config.ts';
import {
  type AttentionTraits,
  attentionSpec,
  decoder,
  readDecoder,
  sandwichNormLayer,
  unscaledRope,
  WINDOW_ROPE,
} from '../stacks/decoder.ts';
import { count, real, reals, SHORT_WINDOW, wideHeads } from '../synthetic-family.ts';
import { readSharedCaches } from './gemma4.ts';

/** What published models have, and files do not say. */
const LAUREL_RANK = 64;

/** Which layers' feed-forward is sparse if the file does not say, and the quantile of 95 % in standard deviations. */
const SPARSE_LAYERS = 10;
const SPARSE_DEVIATIONS = 1.6448536;

/** The layers of synthetic models that have caches of their own, as llama.cpp assumes of all files. */
const CACHED_LAYERS = 20;

/** Soft cap of the logits of all published files: llama.cpp does not read it. */
const LOGIT_CAP = 30;

/**
 * Gemma 3n: Gemma 3 with several residual streams (AltUp), a second residual connection of low rank beside attention (LAuReL),
 * values of its own for each layer, sparse gates in the first layers, and last layers that attend to earlier ones' caches (Gemma
 * team 2025).
 */
export const gemma3n: Architecture = {
  names: ['gemma3n'],
  configure(read) {
    const sizes = readDecoder(read);
    const { norm, width, fileRope, layers } = sizes;
    const window = read.count('attention.sliding_window');
    const windowed = read.windowed(5);
    const cacheOf = readSharedCaches(read, layers, windowed);
    const perLayer = read.count('embedding_length_per_layer_input', 256);
    const streams = readStreams(read);
    const deviations = readDeviations(read);
    const cap = read.real('final_logit_softcapping', LOGIT_CAP);
    if (cap !== LOGIT_CAP) read.refuse('final_logit_softcapping', `${cap}`, `${LOGIT_CAP}`);
    const traits: AttentionTraits = {
      ...{ pairs: 'neox', scale: 1 },
      queryNorm: { norm, of: 'head' },
      valueNorm: { kind: 'rms', epsilon: read.real('attention.layer_norm_rms_epsilon') },
    };
    const layerOf = (layer: number): LayerSpec => {
      const local = windowed(layer) && { window, table: WINDOW_ROPE };
      const mixing = attention(
        attentionSpec(sizes.heads(layer), { ...traits, ...local, cacheOf: cacheOf(layer) }),
      );
      const hidden = sizes.hidden(layer);
      const gates = {
        form: 'gated',
        hidden,
        activation: 'gelu_tanh',
        deviations: deviations(layer),
      } as const;
      const [mixed, fed] = sandwichNormLayer(norm, mixing, feedForward(gates)).sublayers;
      const beside = {
        reads: 'layer',
        preNorm: { ...norm, name: 'attn_norm' },
        block: laurel({ rank: LAUREL_RANK, norm }),
        sumFactor: Math.SQRT1_2,
      } as const;
      return {
        sublayers: [mixed, beside, fed].filter((sublayer) => sublayer !== undefined),
        altUp: { streams, norm, perLayer },
      };
    };
    return decoder(sizes, layerOf, {
      scale: Math.fround(Math.sqrt(width)),
      softCap: LOGIT_CAP,
      windowRope: unscaledRope({ ...fileRope, base: read.real('rope.freq_base_swa', 10_000, true) }),
      perLayer: { width: perLayer, layers, norm },
      streams,
    });
  },
  synthetic: {
    metadata: (shape) => ({
      ...wideHeads(shape),
      'attention.sliding_window': count(SHORT_WINDOW),
      'attention.sliding_window_pattern': {
        type: 'array',
        element: 'bool',
        values: Array.from({ length: shape.layers }, (_, layer) => (layer + 1) % 2 !== 0),
      },
      'attention.shared_kv_layers': count(Math.max(0, shape.layers - CACHED_LAYERS)),
      'rope.freq_base_swa': real(1000),
      'altup.active_idx': count(0),
      'altup.num_inputs': count(4),
      embedding_length_per_layer_input: count(256),
      activation_sparsity_scale: reals(shape.layers, (layer) =>
        layer < SPARSE_LAYERS ? SPARSE_DEVIATIONS : -Infinity,
      ),
      final_logit_softcapping: real(30),
    }),
    // Files have keys and values of all layers, also of those that attend to others' caches.
    unused: ({ layers, width, heads, kvHeads, headSize = 2 * (width / heads) }) => {
      const cached = kvHeads * headSize;
      const shapes = {
        'attn_k.weight': [width, cached],
        'attn_v.weight': [width, cached],
        'attn_k_norm.weight': [headSize],
      };
      const sharing = Array.from(
        { length: Math.max(0, layers - CACHED_LAYERS) },
        (_, i) => CACHED_LAYERS + i,
      );
      return Object.fromEntries(
        sharing.flatMap((layer) =>
          Object.entries(shapes).map(([name, shape]) => [`blk.${layer}.${name}`, shape]),
        ),
      );
    },
  },
};

/** The number of streams, of which the first is the one that layers compute in all published models. */
function readStreams(read: ConfigReader): number {
  const active = read.countOrZero('altup.active_idx');
  if (active !== 0) read.refuse('altup.active_idx', `${active}`, '0');
  const streams = read.count('altup.num_inputs', 4);
  if (streams < 2) read.refuse('altup.num_inputs', `${streams}`, '2 or more');
  return streams;
}

/**
 * The threshold of each layer's gates. llama.cpp does not read it, and takes the first ten layers' to be at 95 %, as published
 * models have it. Layers whose gates are not sparse have negative infinity.
 */
function readDeviations(read: ConfigReader): (layer: number) => number | undefined {
  const key = 'activation_sparsity_scale';
  if (!read.has(key)) return (layer) => (layer < SPARSE_LAYERS ? SPARSE_DEVIATIONS : undefined);
  const stored = read.reals(key, 0);
  return (layer) => (stored(layer) > -Infinity ? stored(layer) : undefined);
}

/** A learned augmentation of the residual connection (Menghani et al. 2025, "LAuReL"), of low rank. */
interface LaurelSpec {
  readonly rank: number;
  readonly norm: Norm;
}

/** `x + norm(right(left(x)))`; its weights are `laurel_l`, `laurel_r` and `laurel_post_norm`. */
function laurel({ rank, norm }: LaurelSpec): Block<'laurel', LaurelSpec> {
  return {
    kind: 'laurel',
    spec: { rank, norm },
    record: (scope, x) => {
      const low = linear(scope, x, { name: 'laurel_l', rows: rank, scale: 'never' });
      const high = linear(scope, low, { name: 'laurel_r', rows: x.width, scale: 'never' });
      return add(scope.g, normalize(scope, high, { ...norm, name: 'laurel_post_norm' }), x);
    },
  };
}
