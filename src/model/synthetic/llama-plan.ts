import { F16, F32, Q8_0, type TensorFormat } from '../../formats/index.ts';
import type { GgufPlan, GgufValue, PlannedTensor } from '../../gguf/index.ts';
import type { SyntheticShape } from './shapes.ts';
import { SYNTHETIC_SPECIAL, syntheticVocabulary } from './vocabulary.ts';

/** How the matrices of a synthetic model are stored. */
export interface SyntheticFormats {
  /** Of every matrix; one whose rows are no whole number of blocks takes Q8_0, or F16 where that does not fit either. */
  readonly format: TensorFormat;
  /** Of `output.weight`, where it differs. */
  readonly outputFormat?: TensorFormat | undefined;
}

const CHAT_TEMPLATE =
  "{{ bos_token }}{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}";

/** Everything of a Llama model's file but its weights: metadata, a made-up vocabulary, and the tensors' shapes. */
export function syntheticLlama(name: string, shape: SyntheticShape, formats: SyntheticFormats): GgufPlan {
  return {
    metadata: [...modelMetadata(name, shape), ...tokenizerMetadata(shape)],
    tensors: tensorsOf(shape, formats),
  };
}

/** The format, or the next best that divides rows of this many columns into whole blocks. */
export function fittingFormat(format: TensorFormat, columns: number): TensorFormat {
  return [format, Q8_0].find(({ blockElements }) => columns % blockElements === 0) ?? F16;
}

function modelMetadata(name: string, shape: SyntheticShape): [string, GgufValue][] {
  return [
    ['general.architecture', text('llama')],
    ['general.name', text(`${name}, random weights`)],
    ['llama.vocab_size', count(shape.vocabulary)],
    ['llama.context_length', count(shape.context)],
    ['llama.embedding_length', count(shape.width)],
    ['llama.block_count', count(shape.layers)],
    ['llama.feed_forward_length', count(shape.hidden)],
    ['llama.rope.dimension_count', count(shape.width / shape.heads)],
    ['llama.rope.freq_base', real(shape.ropeBase)],
    ['llama.attention.head_count', count(shape.heads)],
    ['llama.attention.head_count_kv', count(shape.kvHeads)],
    ['llama.attention.layer_norm_rms_epsilon', real(1e-5)],
  ];
}

function tokenizerMetadata({ vocabulary }: SyntheticShape): [string, GgufValue][] {
  const { pieces, scores, types } = syntheticVocabulary(vocabulary);
  return [
    ['tokenizer.ggml.model', text('llama')],
    ['tokenizer.ggml.tokens', { type: 'array', element: 'string', values: pieces }],
    ['tokenizer.ggml.scores', { type: 'array', element: 'f32', values: scores }],
    ['tokenizer.ggml.token_type', { type: 'array', element: 'i32', values: types }],
    ['tokenizer.ggml.bos_token_id', count(SYNTHETIC_SPECIAL.begin)],
    ['tokenizer.ggml.eos_token_id', count(SYNTHETIC_SPECIAL.end)],
    ['tokenizer.ggml.unknown_token_id', count(SYNTHETIC_SPECIAL.unknown)],
    ['tokenizer.ggml.add_bos_token', { type: 'bool', value: true }],
    ['tokenizer.ggml.add_eos_token', { type: 'bool', value: false }],
    ['tokenizer.chat_template', text(CHAT_TEMPLATE)],
  ];
}

function tensorsOf(
  shape: SyntheticShape,
  { format, outputFormat = format }: SyntheticFormats,
): PlannedTensor[] {
  const { width, hidden, heads, kvHeads, vocabulary } = shape;
  const keys = (width / heads) * kvHeads;
  const matrix = (name: string, columns: number, rows: number, stored = format): PlannedTensor => ({
    name: `${name}.weight`,
    format: fittingFormat(stored, columns),
    shape: [columns, rows],
  });
  const norm = (name: string): PlannedTensor => ({ name: `${name}.weight`, format: F32, shape: [width] });
  const layer = (prefix: string): PlannedTensor[] => [
    norm(`${prefix}.attn_norm`),
    matrix(`${prefix}.attn_q`, width, width),
    matrix(`${prefix}.attn_k`, width, keys),
    matrix(`${prefix}.attn_v`, width, keys),
    matrix(`${prefix}.attn_output`, width, width),
    norm(`${prefix}.ffn_norm`),
    matrix(`${prefix}.ffn_gate`, width, hidden),
    matrix(`${prefix}.ffn_up`, width, hidden),
    matrix(`${prefix}.ffn_down`, hidden, width),
  ];
  return [
    matrix('token_embd', width, vocabulary),
    ...Array.from({ length: shape.layers }, (_, index) => layer(`blk.${index}`)).flat(),
    norm('output_norm'),
    matrix('output', width, vocabulary, outputFormat),
  ];
}

function text(value: string): GgufValue {
  return { type: 'string', value };
}

function count(value: number): GgufValue {
  return { type: 'u32', value };
}

function real(value: number): GgufValue {
  return { type: 'f32', value };
}
