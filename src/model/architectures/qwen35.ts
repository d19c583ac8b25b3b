import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import type { Block } from '../blocks/block.ts';
import { mixtureOfExperts, requireExperts } from '../blocks/experts.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { gatedDeltaNet, type GatedDeltaNetSpec, readGatedDeltaNet } from '../blocks/gated-delta-net.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { ModelConfig } from '../model-config.ts';
import { attentionSpec, decoder, type DecoderSizes, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { count, expertMetadata, isSmall, OUTPUT, real, type SyntheticShape } from '../synthetic-family.ts';

/** The interval of attention layers if the file does not give one: the last of every four layers. */
const ATTENTION_INTERVAL = 4;

/**
 * Qwen 3.5 to 3.8: gated delta nets, and gated attention in every fourth layer, each with a feed-forward (Qwen team
 * 2026).
 */
export const qwen35: Architecture = {
  names: ['qwen35'],
  configure(read) {
    const sizes = readDecoder(read);
    const dense = (layer: number) =>
      feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu', scales: true });
    return hybrid(read, { sizes, layout: 'apart', feedForward: dense });
  },
  synthetic: { metadata: hybridMetadata, optional: [OUTPUT] },
};

/** Qwen 3.5 with experts, including a gated shared expert. */
export const qwen35moe: Architecture = {
  names: ['qwen35moe'],
  configure: (read) => mixture(read, 'apart'),
  synthetic: {
    metadata: (shape) => ({ ...hybridMetadata(shape), ...mixtureMetadata(shape) }),
    optional: [OUTPUT, 'ffn_gate_inp_shexp.weight'],
  },
};

/** Qwen 3 Next: the predecessor of Qwen 3.5, with decay and beta in one matrix. */
export const qwen3next: Architecture = {
  names: ['qwen3next'],
  configure: (read) => mixture(read, 'grouped'),
  synthetic: qwen35moe.synthetic,
};

function mixture(read: ConfigReader, layout: GatedDeltaNetSpec['layout']): ModelConfig {
  const experts = requireExperts(read, { normalized: true, settings: [] });
  const sizes = readDecoder(read, { hidden: experts.hidden });
  return hybrid(read, {
    sizes,
    layout,
    // If the file has no width for the shared expert, it is the feed-forward's.
    feedForward: (layer) =>
      mixtureOfExperts({
        ...experts,
        sharedHidden: experts.sharedHidden || sizes.hidden(layer),
        activation: 'silu',
        scales: true,
      }),
  });
}

function hybrid(
  read: ConfigReader,
  of: {
    readonly sizes: DecoderSizes;
    readonly layout: GatedDeltaNetSpec['layout'];
    readonly feedForward: (layer: number) => Block;
  },
): ModelConfig {
  const { sizes, layout, feedForward: feedForwardOf } = of;
  const { norm } = sizes;
  read.checkSections(sizes.rope.dimensions, 'interleaved');
  const net = gatedDeltaNet({ ...readGatedDeltaNet(read), norm, layout });
  const queryNorm = { norm, of: 'head' } as const;
  const traits = { pairs: 'neox', queryNorm, outputGate: 'attn_q' } as const;
  const interval = read.count('full_attention_interval', ATTENTION_INTERVAL);
  const isRecurrent =
    read.layerFlags('attention.recurrent_layers') ?? ((layer: number) => (layer + 1) % interval !== 0);
  const layerOf = (layer: number, mixer: Block) =>
    preNormLayer(norm, mixer, feedForwardOf(layer), 'post_attention_norm');
  const attentionOf = (layer: number) => {
    const heads = sizes.heads(layer);
    const { keySize, valueSize } = heads;
    if (keySize !== valueSize) {
      read.refuse('attention.value_length', `${valueSize}`, `${keySize}, as wide as the keys`);
    }
    return attention(attentionSpec(heads, traits));
  };
  return decoder(sizes, (layer) => layerOf(layer, isRecurrent(layer) ? net : attentionOf(layer)), {
    predictor: { reads: 'normed', layer: (layer) => layerOf(layer, attentionOf(layer)) },
  });
}

/** In models of few layers, attention in every second one, so that they have both kinds. */
const SHORT_INTERVAL = 2;
const SYNTHETIC_TAPS = 4;

/**
 * Heads in the published models' proportions: values twice as wide as the residual stream, half as many key heads, RoPE
 * on a quarter of a head.
 */
function hybridMetadata(shape: SyntheticShape) {
  const { width, heads } = shape;
  const size = (2 * width) / heads;
  const stateSize = isSmall(shape) ? 16 : 128;
  const valueHeads = (2 * width) / stateSize;
  const pairs = size / 8;
  const sections = [0, 1, 2].map((coordinate) => Math.ceil((pairs - coordinate) / 3));
  return {
    full_attention_interval: count(shape.layers < 8 ? SHORT_INTERVAL : ATTENTION_INTERVAL),
    'ssm.conv_kernel': count(SYNTHETIC_TAPS),
    'ssm.state_size': count(stateSize),
    'ssm.group_count': count(valueHeads / 2),
    'ssm.time_step_rank': count(valueHeads),
    'ssm.inner_size': count(2 * width),
    'attention.key_length': count(size),
    'attention.value_length': count(size),
    'rope.dimension_count': count(2 * pairs),
    'rope.dimension_sections': { type: 'array', element: 'i32', values: [...sections, 0] },
    'attention.layer_norm_rms_epsilon': real(1e-6),
  } as const;
}

function mixtureMetadata(shape: SyntheticShape) {
  return { ...expertMetadata(shape), expert_shared_feed_forward_length: count(shape.hidden) };
}
