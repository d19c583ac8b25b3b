import type { GgufFile } from '../../gguf/index.ts';
import type { AttentionSpec } from '../blocks/attention.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import type { ConfigReader } from '../config-reader.ts';
import { groupsOf, type LayerSpec, type MaskPredictor } from '../model-config.ts';
import { count, counts, type SyntheticFamily } from '../synthetic-family.ts';
import { attentionSpec, type DecoderSizes, fileScale, readDecoder } from './decoder.ts';
import { DRAFTER_ROPE, type DrafterFile } from './eagle3.ts';

/** Rows of a block in files that do not say it, as in llama.cpp. */
const USUAL_BLOCK = 16;

/** The tensors and the setting by which later kinds of the same architecture are told apart, which compute more. */
const OTHER_KINDS: readonly (readonly [tensor: string, what: string])[] = [
  ['markov_w1.weight', 'a Markov head (DSpark)'],
  ['selector_hidden.weight', 'a selector (DFlash 2)'],
  ['hc_head_fn.weight', 'hyper-connections (DSpark of DeepSeek 4)'],
];

/** What a synthetic file has beyond the common metadata; its tensors are those of a plain drafter without tables of its own. */
export const DFLASH_SYNTHETIC: SyntheticFamily = {
  metadata: () => ({
    target_layers: counts(2, (place) => 1 + place),
    block_size: count(8),
  }),
  tokenizer: () => ({ mask_token_id: count(3) }),
};

/** What a DFlash file has that is not computed; undefined for a plain one. */
export function unsupportedDflash(gguf: GgufFile): string | undefined {
  return OTHER_KINDS.find(([tensor]) => gguf.tensor(tensor))?.[1];
}

/** Whether the file has a tensor of this name. */
type HasTensor = (name: string) => boolean;

/** Reads the settings of a DFlash file in llama.cpp's layout. Throws `MODEL_CONFIG`. */
export function readDflash(read: ConfigReader, hasTensor: HasTensor): DrafterFile<MaskPredictor> {
  const sizes = readDecoder(read);
  const { norm, width, rope, trainedContext, architecture } = sizes;
  read.checkSections(rope.dimensions, 'consecutive');
  // llama.cpp ignores the factors of a model whose positions have sections.
  if (read.has('rope.dimension_sections') && hasTensor('rope_freqs.weight'))
    read.refuse('rope.dimension_sections', 'sections', 'none beside rope_freqs.weight');
  const name = `${architecture}.target_layers`;
  read.asked.add(name);
  const features = Array.from(read.metadata.numbers(name) ?? []);
  if (features.length === 0) read.refuse('target_layers', 'nothing', 'the layers of the model that are read');
  const block = read.count('block_size', USUAL_BLOCK);
  if (block < 2) read.refuse('block_size', `${block}`, 'room for a mask behind the last token');
  const mask = read.metadata.number('tokenizer.ggml.mask_token_id') ?? -1;
  const found = Array.from({ length: sizes.layers }, (_, layer) =>
    readLayer(read, hasTensor, { sizes, layer, block }),
  );
  const layers = found.map(({ layer }) => layer);
  const predictor: MaskPredictor = {
    kind: 'masks',
    layers,
    attention: found.map(({ mixing }) => mixing),
    norm,
    width,
    features,
    featureWidth: width,
    embeddingScale: read.real('embedding_scale', 1, true),
    rope,
    logits: {
      scale: read.real('logit_scale', 1, true),
      softCap: read.real('final_logit_softcapping', 0) || undefined,
    },
    block,
    mask,
  };
  const config = {
    ...{ architecture, width, trainedContext, layers, predictor },
    state: groupsOf(layers),
    embedding: {},
    head: { kind: 'logits', norm: { ...norm, name: 'output_norm' } },
  } as const;
  return { predictor, config };
}

function readLayer(
  read: ConfigReader,
  hasTensor: HasTensor,
  {
    sizes,
    layer: index,
    block,
  }: { readonly sizes: DecoderSizes; readonly layer: number; readonly block: number },
): { readonly layer: LayerSpec; readonly mixing: AttentionSpec } {
  const { norm } = sizes;
  const has = (name: string) => hasTensor(`blk.${index}.${name}.weight`);
  const outputNorm = (name: string) => (has(name) ? { outputNorm: { ...norm, name } } : {});
  const mixing = attentionSpec(sizes.heads(index), {
    pairs: 'neox',
    table: DRAFTER_ROPE,
    queryNorm: { norm, of: 'head' },
    hasSinks: 'if there',
    bidirectional: !read.flag('attention.causal', false),
    scale: fileScale(read, sizes.heads(index)),
    ...(!has('attn_v') && { keysAsValues: true, valueNorm: norm }),
    window: windowOf(read, index, block),
  });
  const activation = activationOf(read);
  const mlp = feedForward({ form: 'gated', hidden: sizes.hidden(index), activation, scales: true });
  const layer: LayerSpec = {
    sublayers: [
      {
        preNorm: { ...norm, name: 'attn_norm' },
        block: attention(mixing),
        ...outputNorm('post_attention_norm'),
      },
      { preNorm: { ...norm, name: 'ffn_norm' }, block: mlp, ...outputNorm('post_ffw_norm') },
    ],
    scaled: 'result',
  };
  return { layer, mixing };
}

/** The window of a layer, if it has one. */
function windowOf(read: ConfigReader, layer: number, block: number): number | undefined {
  const window = read.countOrZero('attention.sliding_window');
  if (window === 0) return undefined;
  const pattern = read.layerFlags('attention.sliding_window_pattern');
  if (!pattern) read.refuse('attention.sliding_window_pattern', 'nothing', 'the layers that have the window');
  if (window < block)
    read.refuse('attention.sliding_window', `${window}`, `room for a block of ${block} rows`);
  return pattern(layer) ? window : undefined;
}

function activationOf(read: ConfigReader): 'silu' | 'gelu_tanh' {
  const name = read.text('hidden_activation') ?? 'silu';
  if (name === 'silu') return name;
  if (name === 'gelu' || name === 'gelu_pytorch_tanh') return 'gelu_tanh';
  return read.refuse('hidden_activation', name, 'silu, gelu or gelu_pytorch_tanh');
}
