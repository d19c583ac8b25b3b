import { add } from '../../ops/elementwise.ts';
import { concat } from '../../ops/concat.ts';
import { type RopeParameters, ropeTable } from '../../ops/rope.ts';
import { gatherRows } from '../../ops/rows.ts';
import type { Tensor } from '../../ops/value.ts';
import { attention } from '../blocks/attention.ts';
import type { LayerContext } from '../blocks/block.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { linear, scaledProduct } from '../blocks/linear.ts';
import { normalize } from '../blocks/norm.ts';
import type { ConfigReader } from '../config-reader.ts';
import { EMBEDDING_TABLE } from '../embedding-place.ts';
import { type DrafterSpec, type FeaturePredictor, groupsOf, type ModelConfig } from '../model-config.ts';
import type { PartScope } from '../part-scope.ts';
import { attentionSpec, readDecoder } from './decoder.ts';
import { capLogits, type Embedded, recordLayer } from './record-stack.ts';

/** What the names of a drafter's tensors begin with, beside the model's. */
export const DRAFTER_PREFIX = 'draft.';

/** The drafter's table of rotary angles. */
export const DRAFTER_ROPE = 'draft rope';

/** The number of layers whose inputs are fused. */
const FEATURES = 3;

/** What a drafter's file describes: the predictor, and what it has in common with a model's file. */
export interface DrafterFile<P extends DrafterSpec = DrafterSpec> {
  readonly predictor: P;
  readonly config: ModelConfig;
}

/** Reads the settings of an EAGLE-3 file in llama.cpp's layout. Throws `MODEL_CONFIG`. */
export function readEagle3(read: ConfigReader): DrafterFile<FeaturePredictor> {
  const sizes = readDecoder(read);
  const { norm, width, rope, trainedContext, architecture } = sizes;
  if (sizes.layers !== 1) read.refuse('block_count', `${sizes.layers}`, 'one layer');
  const features = read.metadata.numbers(`${read.architecture}.target_layers`) ?? [];
  read.asked.add(`${read.architecture}.target_layers`);
  if (features.length !== FEATURES)
    read.refuse('target_layers', `${features.length} layers`, `${FEATURES} layers`);
  const spec = attentionSpec(sizes.heads(0), { pairs: 'interleaved', table: DRAFTER_ROPE });
  const block = feedForward({ form: 'gated', hidden: sizes.hidden(0), activation: 'silu' });
  const layer = {
    sublayers: [{ block: attention({ ...spec, width }) }, { preNorm: { ...norm, name: 'ffn_norm' }, block }],
  };
  const predictor: FeaturePredictor = {
    kind: 'features',
    layer,
    norm,
    width,
    features: Array.from(features),
    featureWidth: read.count('target_hidden_size'),
    normsFeatures: read.flag('norm_before_fc', false),
    adds: read.flag('norm_before_residual', false) ? 'normed' : 'raw',
    rope,
  };
  const config: ModelConfig = {
    architecture,
    state: groupsOf([layer]),
    width,
    trainedContext,
    embedding: {},
    layers: [layer],
    head: { kind: 'logits', norm: { ...norm, name: 'output_norm' } },
    predictor,
  };
  return { predictor, config };
}

/** Records the embedding of tokens, by the drafter's table or the model's, and the drafter's rotary angles. */
export function recordDrafterEmbedding(scope: PartScope, { rope }: DrafterSpec, ids: Tensor): Embedded {
  const own = DRAFTER_PREFIX + EMBEDDING_TABLE;
  const x = scope.embed(ids, scope.has(own) ? own : EMBEDDING_TABLE);
  return { x, shared: new Map([[DRAFTER_ROPE, recordDrafterRope(scope, rope)]]) };
}

/** Records the drafter's rotary angles of the rows' positions. */
export function recordDrafterRope(scope: PartScope, rope: RopeParameters): Tensor {
  const factors = scope.optional(`${DRAFTER_PREFIX}rope_freqs.weight`, 1, rope.dimensions / 2);
  return ropeTable(scope.g, rope, factors);
}

/** Records the fusion of what the model's layers read, f32 [rows, featureWidth] each: f32 [rows, width]. */
export function recordFusion(scope: PartScope, spec: DrafterSpec, features: readonly Tensor[]): Tensor {
  const all = features.reduce((a, b) => concat(scope.g, a, b, { aPart: a.width, bPart: b.width }));
  const norm = { ...spec.norm, name: `${DRAFTER_PREFIX}enc.output_norm` };
  const before = spec.kind === 'features' && spec.normsFeatures;
  const read = before ? normalize(scope, all, norm) : all;
  const fused = linear(scope, read, { name: `${DRAFTER_PREFIX}fc`, rows: spec.width });
  return spec.kind === 'masks' ? normalize(scope, fused, norm) : fused;
}

/** Records the drafter's layer: f32 [rows, width]. */
export function recordDrafterLayer(
  scope: PartScope,
  { layer, norm, adds, width }: FeaturePredictor,
  { next, carried }: { readonly next: Tensor; readonly carried: Tensor },
  inputs: LayerContext,
): Tensor {
  const token = normalize(scope, next, { ...norm, name: 'attn_norm' });
  const result = normalize(scope, carried, { ...norm, name: 'attn_norm_2' });
  const both = concat(scope.g, token, result, { aPart: width, bPart: width });
  const [first, ...others] = layer.sublayers;
  const mixed = first?.block.record(scope, both, { ...inputs, entering: carried }) ?? both;
  const x = add(scope.g, adds === 'normed' ? result : carried, mixed);
  return recordLayer(scope, { sublayers: others }, x, inputs);
}

/** Records the logits of the model's vocabulary for the batch's output rows; tokens that no draft can be have the least. */
export function recordDrafterHead(
  scope: PartScope,
  spec: DrafterSpec,
  { predicted, vocabulary }: { readonly predicted: Tensor; readonly vocabulary: number },
): Tensor {
  const name = `${DRAFTER_PREFIX}output_norm`;
  const read = gatherRows(scope.g, normalize(scope, predicted, { ...spec.norm, name }));
  const own = `${DRAFTER_PREFIX}output`;
  // As in llama.cpp, DFlash's own embedding is its output as well.
  const tied = spec.kind === 'masks' ? [DRAFTER_PREFIX + EMBEDDING_TABLE] : [];
  const matrices = [`${own}.weight`, ...tied, 'output.weight'];
  const matrix = matrices.find((of) => scope.has(of)) ?? EMBEDDING_TABLE;
  const product = scaledProduct(scope.g, read, {
    weight: scope.weight(matrix, vocabulary, read.width),
    bias: scope.optional(`${own}.bias`, 1, vocabulary),
    scale: matrix === `${own}.weight` ? scope.optional(`${own}.scale`, 1, 1) : undefined,
  });
  return spec.kind === 'masks' ? capLogits(scope, product, spec.logits) : product;
}
