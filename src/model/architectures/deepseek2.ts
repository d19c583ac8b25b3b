import type { Architecture } from '../architecture.ts';
import { expertsOrDense, readExperts } from '../blocks/experts.ts';
import { latentAttention, type LatentAttentionSpec, readLatents } from '../blocks/latent-attention.ts';
import type { GgufValue } from '../../gguf/index.ts';
import type { ScoreParameters } from '../../ops/attention.ts';
import type { RopeParameters } from '../../ops/rope.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { ModelConfig } from '../model-config.ts';
import { decoder, preNormLayer, readDecoder, ROPE } from '../stacks/decoder.ts';
import {
  count,
  expertMetadata,
  flag,
  latentMetadata,
  OUTPUT,
  real,
  type SyntheticShape,
  text,
} from '../synthetic-family.ts';

/** GLM 4.7 Flash, whose first files do not say that the gating function is a sigmoid. */
const GLM_FLASH: { readonly layers: readonly number[]; readonly vocabulary: number } = {
  layers: [47, 48],
  vocabulary: 154_880,
};

/**
 * DeepSeek V2 to V3.1 and R1, Kimi K2, GLM 4.7 Flash: latent attention, and experts with shared experts after a few
 * dense layers (DeepSeek-AI 2024, "DeepSeek-V2", "DeepSeek-V3").
 */
export const deepseek2: Architecture = {
  names: ['deepseek2'],
  // If the file has a multiplier, the magnitude is applied to the scores only.
  configure: (read) =>
    configureLatents(read, {
      gate: defaultGate(read),
      rotated: ({ ofPaper, ofFile }) => (ofFile === 1 ? ofPaper : 1),
    }),
  synthetic: { metadata: deepseekMetadata, optional: [OUTPUT, 'exp_probs_b.bias'] },
};

/** Mistral Small 4: DeepSeek V2's layers, with a query temperature at distant positions (Mistral AI 2026). */
export const mistral4: Architecture = {
  names: ['mistral4'],
  configure: (read) => configureLatents(read, { gate: defaultGate(read), rotated: rotatedByBoth }),
  synthetic: {
    metadata: (shape) => ({
      ...deepseekMetadata(shape),
      'attention.temperature_scale': real(0.1),
      'attention.temperature_length': count(8),
    }),
    optional: [OUTPUT, 'exp_probs_b.bias'],
  },
};

/**
 * YaRN's magnitude, the factor on rotated vectors: as the paper defines it, and with the file's multiplier
 * ("mscale_all_dim").
 */
interface Magnitudes {
  readonly ofPaper: number;
  readonly ofFile: number;
}

/** The quotient of both magnitudes, with which most files are rotated. */
export function rotatedByBoth({ ofPaper, ofFile }: Magnitudes): number {
  return ofPaper / ofFile;
}

/** What differs among the descendants of DeepSeek V2. */
interface LatentTraits {
  /** The gating function if the file does not give one. */
  readonly gate: 'softmax' | 'sigmoid';
  /** Factor on the rotated parts. */
  readonly rotated: (of: Magnitudes) => number;
  /** Whether the scales of feed-forwards and experts are applied. Default: they are not, as in llama.cpp. */
  readonly scales?: boolean;
  /** The indexer of a layer, of whose heads as many values are rotated. Default: rows attend to all positions. */
  readonly indexer?: (layer: number) => LatentAttentionSpec['indexer'];
}

/** Reads the configuration of a decoder with latent attention and experts; its predictor has no indexer. */
export function configureLatents(
  read: ConfigReader,
  { gate, rotated, scales = false, indexer = () => undefined }: LatentTraits,
): ModelConfig {
  const experts = readExperts(read, { gate, shared: 'counted' });
  const sizes = readDecoder(read, { hidden: experts?.hidden });
  const { rope, magnitude } = readMagnitude(read, sizes.rope, rotated);
  const temperature = readTemperature(read);
  const layerOf = (layer: number, chooses: LatentAttentionSpec['indexer']) => {
    const latents = readLatents(read, sizes.heads(layer), rope.dimensions);
    if (chooses) requireIndexed(read, latents);
    const scale = magnitude ** 2 / Math.sqrt(latents.plainSize + latents.rotatedSize);
    const angles = { table: ROPE, pairs: 'interleaved' } as const;
    return preNormLayer(
      sizes.norm,
      latentAttention({
        ...latents,
        norm: sizes.norm,
        rope: angles,
        scale,
        ...temperature,
        indexer: chooses,
      }),
      expertsOrDense(experts, layer, { hidden: sizes.hidden(layer), activation: 'silu', scales }),
    );
  };
  return decoder({ ...sizes, rope }, (layer) => layerOf(layer, indexer(layer)), {
    predictor: { reads: 'normed', layer: (layer) => layerOf(layer, undefined) },
  });
}

/** Refuses sizes with which no indexer works. */
function requireIndexed(
  read: ConfigReader,
  { form, queryLatentSize }: Pick<LatentAttentionSpec, 'form' | 'queryLatentSize'>,
): void {
  if (form !== 'absorbed') {
    read.refuse('attention.key_length_mla', 'nothing', 'the size of a key: the cache holds latents');
  }
  if (queryLatentSize === undefined) {
    read.refuse('attention.q_lora_rank', 'nothing', 'the size of the latent that the indexer reads');
  }
}

/** The gating function if the file does not give one. */
function defaultGate(read: ConfigReader): 'softmax' | 'sigmoid' {
  const layers = read.count('block_count') - read.countOrZero('nextn_predict_layers');
  const pieces = read.metadata.lengthOf('tokenizer.ggml.tokens') ?? 0;
  const isGlm =
    GLM_FLASH.layers.includes(layers) && read.count('vocab_size', pieces) === GLM_FLASH.vocabulary;
  return isGlm ? 'sigmoid' : 'softmax';
}

/**
 * YaRN's magnitude as DeepSeek applies it: `rotated` computes the factor on the rotated parts; the scores, which also
 * cover the parts that are not rotated, get a factor from both magnitudes.
 */
function readMagnitude(
  read: ConfigReader,
  rope: RopeParameters,
  rotated: (of: Magnitudes) => number,
): { readonly rope: RopeParameters; readonly magnitude: number } {
  // Converters write a tenth of the multiplier.
  const multiplier = read.real('rope.scaling.yarn_log_multiplier', 0) / 0.1;
  const { scaling } = rope;
  const growth = 0.1 * Math.log(scaling.kind === 'none' ? 1 : scaling.factor);
  const [ofPaper, ofFile] = [1 + growth, 1 + multiplier * growth];
  if (scaling.kind !== 'yarn') return { rope, magnitude: ofPaper * ofFile };
  const isStretched = scaling.extrapolation !== 0;
  // The table already applies the paper's magnitude.
  const factor = isStretched ? rotated({ ofPaper, ofFile }) / ofPaper : 1;
  const attention = scaling.attention * factor;
  return { rope: { ...rope, scaling: { ...scaling, attention } }, magnitude: attention * ofPaper * ofFile };
}

/** The query temperature at distant positions, if there is one. */
function readTemperature(
  read: ConfigReader,
): Pick<ScoreParameters, 'temperatureScale' | 'temperatureLength'> {
  const temperatureScale = read.real('attention.temperature_scale', 0);
  if (temperatureScale === 0) return {};
  return { temperatureScale, temperatureLength: read.count('attention.temperature_length') };
}

/** The layers of DeepSeek V2 Lite, by which llama.cpp tells it from the others, too. */
const LITE_LAYERS = 27;

/**
 * DeepSeek V3's sizes, or small ones for small shapes: groups of experts, sigmoid gating, YaRN with a multiplier. Those
 * of V2 Lite have softmax gating, no groups and no latents of queries.
 */
export function deepseekMetadata(shape: SyntheticShape): Record<string, GgufValue> {
  const isLite = shape.layers === LITE_LAYERS;
  const latents = latentMetadata(shape, 'absorbed');
  const { 'attention.q_lora_rank': _, ...ofLite } = latents;
  return {
    ...(isLite ? ofLite : latents),
    ...expertMetadata(shape),
    leading_dense_block_count: count(1),
    expert_shared_count: count(isLite ? 2 : 1),
    expert_group_count: count(isLite ? 1 : 2),
    expert_group_used_count: count(1),
    expert_weights_norm: flag(!isLite),
    expert_weights_scale: real(isLite ? 1 : 2.5),
    expert_gating_func: count(isLite ? 1 : 2),
    'rope.scaling.type': text('yarn'),
    'rope.scaling.factor': real(4),
    'rope.scaling.original_context_length': count(16),
    'rope.scaling.yarn_log_multiplier': real(0.0707),
  };
}
