import { fail } from '../base/errors.ts';
import { BF16, F16, F32, Q8_0, type TensorFormat } from '../formats/index.ts';
import type { GgufPlan, GgufValue } from '../gguf/index.ts';
import { pretokenizerKind } from '../text/pretokenizer-kinds.ts';
import { CheckpointConfig } from './checkpoint-config.ts';
import { type CheckpointFiles, invalid, isObject, readJson, type StoredTensor } from './checkpoint.ts';
import { type ConvertedTensor, planTensors } from './convert-tensors.ts';
import { bert } from './families/bert.ts';
import { gemma2 } from './families/gemma2.ts';
import { gemma3 } from './families/gemma3.ts';
import { gptOss } from './families/gpt-oss.ts';
import { granite } from './families/granite.ts';
import { lfm2 } from './families/lfm2.ts';
import { llama } from './families/llama.ts';
import { olmo2 } from './families/olmo2.ts';
import { phi3 } from './families/phi3.ts';
import { qwen2, qwen2moe, qwen3, qwen3moe } from './families/qwen.ts';
import { qwen35, qwen35moe } from './families/qwen35.ts';
import { smollm3 } from './families/smollm3.ts';
import type { CheckpointFamily, Settings } from './family.ts';
import { writeRope } from './rope-settings.ts';
import { samplingSettings } from './sampling-settings.ts';
import { writeVocabulary } from './vocabulary-settings.ts';

/** The format of matrices, by the names that users give; with the value of `general.file_type`. */
export const OUTPUT_TYPES = {
  f32: { format: F32, fileType: 0 },
  f16: { format: F16, fileType: 1 },
  bf16: { format: BF16, fileType: 32 },
  q8_0: { format: Q8_0, fileType: 7 },
} as const;

/** The name of an output type; `auto` is that of the checkpoint, f16 for F32. */
export type OutputType = keyof typeof OUTPUT_TYPES | 'auto';

/** What a checkpoint becomes. */
export interface ConvertChoices {
  readonly type: OutputType;
  /** The value of `general.name`. Default: the folder's name. */
  readonly name?: string | undefined;
  /** The name of the pre-tokenizer instead of the one that its patterns tell. */
  readonly pre?: string | undefined;
}

/** The file that a checkpoint becomes. */
export interface ConvertPlan {
  readonly plan: GgufPlan;
  readonly tensors: readonly ConvertedTensor[];
  readonly architecture: string;
  /** The format that most matrices get. */
  readonly format: TensorFormat;
  /** Settings and tensors that the file does not get, and that might matter. */
  readonly unread: { readonly settings: readonly string[]; readonly tensors: readonly string[] };
}

const CONFIG = 'config.json';

/** Every family that is converted. */
const FAMILIES: readonly CheckpointFamily[] = [
  ...[llama, granite, smollm3, olmo2],
  ...[qwen2, qwen2moe, qwen3, qwen3moe],
  ...[qwen35, qwen35moe],
  ...[gemma2, gemma3],
  ...[lfm2, phi3, gptOss],
  bert,
];

/** `general.file_type` of files whose experts are in MXFP4. */
const MXFP4_FILE_TYPE = 38;

/** The version of block formats that `general.quantization_version` names. */
const QUANTIZATION_VERSION = 2;

/** Settings of numbers, by their keys behind the architecture: their type, and their names in checkpoints. */
const COMMON: Readonly<Record<string, readonly ['u32' | 'f32', ...string[]]>> = {
  block_count: ['u32', 'num_hidden_layers'],
  context_length: ['u32', 'max_position_embeddings'],
  embedding_length: ['u32', 'hidden_size'],
  feed_forward_length: ['u32', 'intermediate_size'],
  'attention.head_count': ['u32', 'num_attention_heads'],
  'attention.head_count_kv': ['u32', 'num_key_value_heads'],
  'attention.layer_norm_rms_epsilon': ['f32', 'rms_norm_eps', 'norm_eps'],
  'attention.layer_norm_epsilon': ['f32', 'layer_norm_eps'],
  expert_count: ['u32', 'num_local_experts', 'num_experts'],
  expert_used_count: ['u32', 'num_experts_per_tok'],
  'attention.key_length': ['u32', 'head_dim'],
  'attention.value_length': ['u32', 'head_dim'],
};

/**
 * Decides what a checkpoint's file holds, as llama.cpp's converter would. No tensor data is read. Rejects with
 * `CHECKPOINT_INVALID`, `CONVERT_UNSUPPORTED` or `PRETOKENIZER_UNKNOWN`.
 */
export async function planConvert(
  files: CheckpointFiles,
  stored: readonly StoredTensor[],
  choices: ConvertChoices,
): Promise<ConvertPlan> {
  const values =
    (await readJson(files, CONFIG)) ?? invalid(files.name, `no ${CONFIG}`, 'a model of Hugging Face');
  const family = familyOf(values.architectures);
  const quantized = isObject(values.quantization_config) ? values.quantization_config : undefined;
  const isMxfp4 = family.hasMxfp4 === true && quantized?.quant_method === 'mxfp4';
  if (quantized && !isMxfp4) {
    const expected = `weights in F32, F16${family.hasMxfp4 ? ', BF16 or MXFP4' : ' or BF16'}`;
    const found = `quantization_config of ${String(quantized.quant_method)}`;
    fail('CONVERT_UNSUPPORTED', { what: CONFIG, found, expected });
  }
  const inner = isObject(values.text_config) ? values.text_config : {};
  const { text_config: _text, vision_config: _vision, quantization_config: _packed, ...outer } = values;
  const config = new CheckpointConfig(CONFIG, { ...outer, ...inner });
  if (choices.pre !== undefined) pretokenizerKind(choices.pre);
  const { format, fileType } = OUTPUT_TYPES[choices.type === 'auto' ? usualType(stored) : choices.type];
  const { tensors, left } = planTensors(stored, { family, config, format });
  const names = stored.map((tensor) => tensor.name);
  const settings = settingsOf(family, config, names);
  await family.moreSettings?.(files, settings, (name) => `${family.architecture}.${name}`);
  const value = isMxfp4 && format !== Q8_0 ? MXFP4_FILE_TYPE : fileType;
  settings.set('general.file_type', { type: 'u32', value });
  const sampling = await samplingSettings(files);
  const size = config.optional('vocab_size') ?? family.vocabulary;
  await writeVocabulary({ files, family, size, pre: choices.pre }, settings);
  const general: [string, GgufValue][] = [
    ['general.architecture', { type: 'string', value: family.architecture }],
    ['general.type', { type: 'string', value: 'model' }],
    ['general.name', { type: 'string', value: choices.name ?? files.name }],
    ['general.quantization_version', { type: 'u32', value: QUANTIZATION_VERSION }],
    ...sampling.settings,
  ];
  return {
    plan: { metadata: [...general, ...settings], tensors },
    tensors,
    architecture: family.architecture,
    format,
    unread: { settings: [...config.unread, ...sampling.unread], tensors: left },
  };
}

/** The family of a checkpoint by its `architectures`. Throws `CONVERT_UNSUPPORTED`. */
function familyOf(architectures: unknown): CheckpointFamily {
  const [name] = Array.isArray(architectures) ? (architectures as unknown[]) : [];
  const family = FAMILIES.find(({ classes }) => classes.includes(String(name)));
  if (family) return family;
  const expected = FAMILIES.flatMap(({ classes }) => classes).join(', ');
  return fail('CONVERT_UNSUPPORTED', { what: 'architecture', found: String(name), expected });
}

/** The format of the first matrix. */
function usualType(stored: readonly StoredTensor[]): keyof typeof OUTPUT_TYPES {
  const matrix = stored.find(({ shape, format }) => shape.length >= 2 && format !== F32);
  return matrix?.format === BF16 ? 'bf16' : 'f16';
}

function settingsOf(family: CheckpointFamily, config: CheckpointConfig, names: readonly string[]): Settings {
  const settings: Settings = new Map();
  const key = (name: string) => `${family.architecture}.${name}`;
  for (const [name, [type, ...names]] of Object.entries(COMMON)) {
    const value = config.optional(...names);
    if (value !== undefined) settings.set(key(name), { type, value });
  }
  writeRope(config, family, settings, key);
  family.settings?.(config, settings, key, names);
  return settings;
}
