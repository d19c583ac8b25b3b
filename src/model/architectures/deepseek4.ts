import type { RopeParameters } from '../../ops/rope.ts';
import type { Architecture } from '../architecture.ts';
import { compressedAttention, type CompressedAttentionSpec } from '../blocks/compressed-attention.ts';
import { mixtureOfExperts, requireExperts } from '../blocks/experts.ts';
import { readIndexer } from '../blocks/indexer.ts';
import type { ConfigReader } from '../config-reader.ts';
import { type DecoderSizes, decoder, preNormLayer, readDecoder, ROPE } from '../stacks/decoder.ts';
import {
  count,
  counts,
  expertMetadata,
  flag,
  isSmall,
  OUTPUT,
  real,
  reals,
  SHORT_WINDOW,
  type SyntheticShape,
} from '../synthetic-family.ts';

/** Names of the tables that layers with cells use, and of those that rotate results back. */
const CELL_ROPE = 'cell rope';
const BACK = { [ROPE]: 'rope back', [CELL_ROPE]: 'cell rope back' } as const;

/** Positions of a cell: of layers whose cells overlap and are chosen, and of layers that attend to all of them. */
const CHOSEN_RATIO = 4;
const RATIOS = [0, CHOSEN_RATIO, 128];

/** Streams of all published files: llama.cpp computes no other number. */
const STREAMS = 4;

/**
 * DeepSeek V4: attention to a window and to compressed cells, four residual streams that are read and written by learned shares,
 * experts of which the first layers' are determined by the token (DeepSeek-AI 2026).
 */
export const deepseek4: Architecture = {
  names: ['deepseek4'],
  configure(read) {
    const experts = requireExperts(read, {
      gate: 'sqrt_softplus',
      settings: ['normalized', 'scale'],
      shared: 'counted',
    });
    const sizes = readDecoder(read, { hidden: experts.hidden });
    const { norm } = sizes;
    const { ropes, attentionOf, predicts } = readAttention(read, sizes);
    const limit = read.reals('swiglu_clamp_exp', 0);
    const sharedLimit = read.has('swiglu_clamp_shexp') ? read.reals('swiglu_clamp_shexp', 0) : limit;
    const byToken = read.countOrZero('hash_layer_count');
    const hyper = {
      streams: readStreams(read, sizes.width),
      mixture: { iterations: read.count('hyper_connection.sinkhorn_iterations') },
      epsilon: read.real('hyper_connection.epsilon'),
      normEpsilon: norm.epsilon,
    };
    const layerOf = (layer: number) => ({
      ...preNormLayer(
        norm,
        compressedAttention(attentionOf(layer)),
        mixtureOfExperts({
          ...experts,
          ...{ activation: 'silu', limit: limit(layer), sharedLimit: sharedLimit(layer), limited: 'gate' },
          byToken: layer < byToken,
        }),
      ),
      hyper,
    });
    return decoder(sizes, layerOf, {
      ropes,
      hyper,
      copies: hyper.streams,
      ...(byToken > 0 && { sharesIds: true }),
      ...(predicts && { predictor: { reads: 'residual', layer: layerOf } }),
    });
  },
  synthetic: {
    metadata: deepseekMetadata,
    optional: [OUTPUT, 'exp_probs_b.bias'],
  },
};

function readStreams(read: ConfigReader, width: number): number {
  const key = 'hyper_connection.count';
  const streams = read.count(key);
  if (streams !== STREAMS) read.refuse(key, `${streams}`, `${STREAMS}`);
  // What a predictor would read: all streams.
  const outKey = 'embedding_length_out';
  const all = streams * width;
  const found = read.count(outKey, all);
  if (found !== all) read.refuse(outKey, `${found}`, `${all}, the width of ${streams} streams`);
  return streams;
}

/** Attention by layer, with the tables that layers share. Throws `MODEL_CONFIG`. */
function readAttention(read: ConfigReader, sizes: DecoderSizes) {
  const { norm, rope } = sizes;
  const { heads, kvHeads, keySize, valueSize } = sizes.heads(0);
  if (kvHeads !== 1) read.refuse('attention.head_count_kv', `${kvHeads}`, '1');
  if (valueSize !== keySize)
    read.refuse('attention.value_length', `${valueSize}`, `${keySize}, as keys have`);
  const outputGroups = read.count('attention.output_group_count');
  if (heads % outputGroups !== 0) {
    read.refuse('attention.output_group_count', `${outputGroups}`, `a divisor of ${heads} heads`);
  }
  const ratioOf = readRatios(read, sizes.layers);
  const { dimensions, base } = rope;
  const near: RopeParameters = { dimensions, base, scaling: { kind: 'none' } };
  const far = withoutMagnitude({ ...rope, base: read.real('attention.compress_rope_freq_base') });
  const common = {
    ...{ heads, headSize: keySize, rotatedSize: rope.dimensions, norm, outputGroups },
    queryLatentSize: read.count('attention.q_lora_rank'),
    outputRank: read.count('attention.output_lora_rank'),
    window: read.count('attention.sliding_window'),
  };
  const indexer = readIndexer(read, rope.dimensions);
  const attentionOf = (layer: number): CompressedAttentionSpec => {
    const ratio = ratioOf(layer) ?? 0;
    const table = ratio === 0 ? ROPE : CELL_ROPE;
    const isChosen = ratio === CHOSEN_RATIO;
    return {
      ...common,
      rope: { pairs: 'interleaved', table, inverse: BACK[table], parameters: ratio === 0 ? near : far },
      ...(ratio > 0 && { cells: { ratio, overlaps: isChosen, indexer: isChosen ? indexer : undefined } }),
    };
  };
  const ropes = {
    [ROPE]: { parameters: near },
    [BACK[ROPE]]: { parameters: { ...near, inverse: true } },
    [CELL_ROPE]: { parameters: far },
    [BACK[CELL_ROPE]]: { parameters: { ...far, inverse: true } },
  } as const;
  // A layer that predicts further tokens has no cells in published files, nor in llama.cpp.
  return { ropes, attentionOf, predicts: ratioOf(sizes.layers) === 0 };
}

/** The positions of a cell in each layer; files may have values for further layers. */
function readRatios(read: ConfigReader, layers: number): (layer: number) => number | undefined {
  const key = 'attention.compress_ratios';
  const ratios = read.numbers(key);
  if (ratios.length < layers) read.refuse(key, `${ratios.length} values`, `one for each of ${layers} layers`);
  const other = ratios.find((ratio) => !RATIOS.includes(ratio));
  if (other !== undefined) read.refuse(key, `${other}`, RATIOS.join(', '));
  return (layer) => ratios[layer];
}

/** YaRN without the factor on rotated values that its paper has, and without the file's own. */
function withoutMagnitude(rope: RopeParameters): RopeParameters {
  const { scaling } = rope;
  if (scaling.kind !== 'yarn') return rope;
  const attention = scaling.extrapolation === 0 ? 1 : 1 / (1 + 0.1 * Math.log(Math.max(1, scaling.factor)));
  return { ...rope, scaling: { ...scaling, attention } };
}

/** DeepSeek V4's sizes, or small ones for small shapes, so that a short text has more cells than are chosen. */
function deepseekMetadata(shape: SyntheticShape) {
  const { layers, heads } = shape;
  const of = isSmall(shape)
    ? {
        head: 64,
        rotated: 16,
        latent: 24,
        groups: 2,
        rank: 16,
        window: SHORT_WINDOW,
        indexHeads: 4,
        index: 64,
        topK: 2,
      }
    : {
        head: 512,
        rotated: 64,
        latent: 1024,
        groups: 8,
        rank: 1024,
        window: 128,
        indexHeads: 64,
        index: 128,
        topK: 512,
      };
  return {
    ...expertMetadata(shape),
    'attention.head_count': count(heads),
    'attention.head_count_kv': count(1),
    'attention.key_length': count(of.head),
    'attention.value_length': count(of.head),
    'rope.dimension_count': count(of.rotated),
    'attention.q_lora_rank': count(of.latent),
    'attention.output_group_count': count(of.groups),
    'attention.output_lora_rank': count(of.rank),
    'attention.sliding_window': count(of.window),
    'attention.indexer.head_count': count(of.indexHeads),
    'attention.indexer.key_length': count(of.index),
    'attention.indexer.top_k': count(of.topK),
    'attention.compress_rope_freq_base': real(160_000),
    // The first layer without cells, then both kinds in turn; in small models every third has none, as one that predicts would.
    'attention.compress_ratios': counts(layers, (layer) =>
      layer === 0 || (isSmall(shape) && layer % 3 === 0) ? 0 : (RATIOS[2 - (layer % 2)] as number),
    ),
    'hyper_connection.count': count(STREAMS),
    'hyper_connection.sinkhorn_iterations': count(20),
    'hyper_connection.epsilon': real(1e-6),
    hash_layer_count: count(1),
    expert_shared_count: count(1),
    expert_weights_norm: flag(true),
    expert_weights_scale: real(1.5),
    expert_gating_func: count(4),
    swiglu_clamp_exp: reals(layers, () => 0.5),
  };
}
