import { concat } from '../../ops/concat.ts';
import { type RopeParameters, ropeTable } from '../../ops/rope.ts';
import { gatherRows } from '../../ops/rows.ts';
import type { Tensor } from '../../ops/value.ts';
import { attention, type AttentionSpec } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { linear, scaledProduct } from '../blocks/linear.ts';
import { type NamedNorm, normalize } from '../blocks/norm.ts';
import type { ConfigReader } from '../config-reader.ts';
import { EMBEDDING_TABLE } from '../embedding-place.ts';
import { type CachePredictor, groupsOf, type LayerSpec, type ModelConfig } from '../model-config.ts';
import type { PartScope } from '../part-scope.ts';
import { sandwichNormLayer, unscaledRope } from './decoder.ts';
import { DRAFTER_PREFIX, DRAFTER_ROPE, type DrafterFile } from './eagle3.ts';
import { type Embedded, recordEmbedding } from './record-stack.ts';

/** The drafter's table of rotary angles for layers with a window. */
const DRAFTER_WINDOW_ROPE = 'draft window rope';

/** The attention of a model's layer, and the layer that has its cache. */
type CachedAttention = AttentionSpec & { readonly cacheOf: number };

/**
 * Reads the settings of a Gemma 4 assistant in llama.cpp's layout, and finds the caches of its model that its layers attend to: those
 * of the last layer with a window and of the last one without. Throws `MODEL_CONFIG`.
 */
export function readAssistant(read: ConfigReader, model: ModelConfig): DrafterFile<CachePredictor> {
  const { architecture } = read;
  const layerCount = read.count('block_count');
  const predicting = read.count('nextn_predict_layers');
  if (predicting !== layerCount)
    read.refuse('nextn_predict_layers', `${predicting}`, `${layerCount}, all layers`);
  const width = read.count('embedding_length');
  const trainedContext = read.count('context_length');
  const norm = { kind: 'rms', epsilon: read.real('attention.layer_norm_rms_epsilon') } as const;
  const windowed = read.layerFlags('attention.sliding_window_pattern');
  if (!windowed) read.refuse('attention.sliding_window_pattern', 'nothing', 'which layers have the window');
  const heads = read.counts('attention.head_count');
  const hidden = read.counts('feed_forward_length');
  const own = readSizes(read);
  const caches = cachesOf(read, model);
  for (const key of IDLE) read.asked.add(`${architecture}.${key}`);
  const layerOf = (layer: number): LayerSpec => {
    const isLocal = windowed(layer);
    const cache = isLocal ? caches.local : caches.global;
    checkCache(read, own, cache, isLocal);
    const { kvHeads, keySize, valueSize, window } = cache;
    const block = attention({
      ...{ heads: heads(layer), kvHeads, keySize, valueSize, window, cacheOf: cache.cacheOf, scale: 1 },
      rope: { table: isLocal ? DRAFTER_WINDOW_ROPE : DRAFTER_ROPE, pairs: 'neox' },
      queryNorm: { norm, of: 'head' },
      isAhead: true,
    });
    const mlp = feedForward({ form: 'gated', hidden: hidden(layer), activation: 'gelu_tanh' });
    return { ...sandwichNormLayer(norm, block, mlp), scaled: 'result' };
  };
  const layers = Array.from({ length: layerCount }, (_, layer) => layerOf(layer));
  const rope = read.fileRope(read.count('rope.dimension_count', own.keySize), trainedContext);
  const predictor: CachePredictor = {
    ...{ kind: 'caches', layers, norm, width, features: [], rope },
    featureWidth: read.count('embedding_length_out'),
    windowRope: unscaledRope({
      ...rope,
      dimensions: read.count('rope.dimension_count_swa', own.windowKeySize),
      base: read.real('rope.freq_base_swa', 10_000, true),
    }),
  };
  const config = {
    ...{ architecture, width, trainedContext, layers, predictor, state: groupsOf(layers) },
    embedding: {},
    head: { kind: 'logits', norm: { ...norm, name: 'output_norm' } },
  } as const;
  return { predictor, config };
}

/** Settings that the converter writes as for the model: drafts are the same without them. */
const IDLE: readonly string[] = [
  ...['attention.head_count_kv', 'attention.shared_kv_layers', 'embedding_length_per_layer_input'],
  'final_logit_softcapping',
];

/** Sizes of heads, which must be those of the caches. */
function readSizes(read: ConfigReader) {
  const keySize = read.count('attention.key_length');
  const windowKeySize = read.count('attention.key_length_swa');
  for (const [key, size] of [
    ['attention.value_length', keySize],
    ['attention.value_length_swa', windowKeySize],
  ] as const) {
    const found = read.count(key, size);
    if (found !== size) read.refuse(key, `${found}`, `${size}, as keys have`);
  }
  return { keySize, windowKeySize, window: read.count('attention.sliding_window') };
}

function checkCache(
  read: ConfigReader,
  own: ReturnType<typeof readSizes>,
  { keySize, window }: CachedAttention,
  isLocal: boolean,
): void {
  const [key, found] = isLocal
    ? (['attention.key_length_swa', own.windowKeySize] as const)
    : (['attention.key_length', own.keySize] as const);
  if (found !== keySize) read.refuse(key, `${found}`, `${keySize}, as in the model`);
  if (!isLocal || own.window === window) return;
  read.refuse('attention.sliding_window', `${own.window}`, `${window}, as in the model`);
}

/** The attention of the model's last two layers, one with a window and one without, with their caches. */
function cachesOf(read: ConfigReader, { layers }: ModelConfig) {
  const of = (layer: number): CachedAttention | undefined => {
    const block = layers[layer]?.sublayers.find((sublayer) => sublayer.block.kind === 'attention')?.block;
    const spec = block?.spec as AttentionSpec | undefined;
    return spec && { ...spec, cacheOf: spec.cacheOf ?? layer };
  };
  const [local, global] = [of(layers.length - 2), of(layers.length - 1)];
  if (local?.window !== undefined && global && global.window === undefined) {
    return { local, global };
  }
  const expected = 'a model whose last layers are one with a window and one without';
  return read.refuse('block_count', 'a drafter of another model', expected);
}

/**
 * Records the embedding of the next tokens as the model has it, and rotary angles of the position behind the text, from which all
 * drafts are attended.
 */
export function recordAssistantEmbedding(
  scope: PartScope,
  { rope, windowRope }: CachePredictor,
  of: { readonly ids: Tensor; readonly positions: Tensor; readonly scale: number | undefined },
): Embedded {
  const { g } = scope;
  const { ids, positions, scale } = of;
  const { x } = recordEmbedding(scope, scale === undefined ? {} : { scale }, ids);
  const factors = scope.optional(`${DRAFTER_PREFIX}rope_freqs.weight`, 1, rope.dimensions / 2);
  const table = (parameters: RopeParameters, own?: typeof factors) =>
    ropeTable(g, parameters, own, positions);
  return {
    x,
    shared: new Map([
      [DRAFTER_ROPE, table(rope, factors)],
      [DRAFTER_WINDOW_ROPE, table(windowRope)],
    ]),
  };
}

/** Records what the first layer reads of the next tokens and of the model's result, f32 [rows, featureWidth] each: f32 [rows, width]. */
export function recordAssistantInput(
  scope: PartScope,
  { width }: CachePredictor,
  { next, carried }: { readonly next: Tensor; readonly carried: Tensor },
): Tensor {
  const both = concat(scope.g, next, carried, { aPart: next.width, bPart: carried.width });
  return linear(scope, both, { name: `${DRAFTER_PREFIX}nextn.pre_projection`, rows: width, scale: 'never' });
}

/** Records the logits of the batch's output rows, and what is carried on in the place of the model's result. */
export function recordAssistantHead(
  scope: PartScope,
  { norm, featureWidth }: CachePredictor,
  { drafted, vocabulary }: { readonly drafted: Tensor; readonly vocabulary: number },
): { readonly hidden: Tensor; readonly logits: Tensor } {
  const { g } = scope;
  const named: NamedNorm = { ...norm, name: `${DRAFTER_PREFIX}output_norm` };
  const read = normalize(scope, drafted, named);
  const name = `${DRAFTER_PREFIX}nextn.post_projection`;
  const weight = scope.weight(DRAFTER_PREFIX + EMBEDDING_TABLE, vocabulary, read.width);
  return {
    hidden: linear(scope, read, { name, rows: featureWidth, scale: 'never' }),
    logits: scaledProduct(g, gatherRows(g, read), { weight, bias: undefined, scale: undefined }),
  };
}
