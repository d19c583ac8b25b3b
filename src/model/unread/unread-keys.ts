import type { MetadataValue } from '../../gguf/index.ts';
import { samplerNamed } from '../../ops/index.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { ModelConfig } from '../model-config.ts';
import type { Unread } from './unread.ts';

/** The input of a rule: an unread value, and its file. */
interface UnreadValue {
  readonly value: MetadataValue | undefined;
  readonly config: ModelConfig;
  /** A number from the same file, by its key under the architecture's name. */
  readonly number: (key: string) => number | undefined;
}

/** Why keys may stay unread, or what it means if they do. */
interface KeyRule {
  /** The key under the architecture's name. */
  readonly key: RegExp;
  readonly reason: string;
  /** True for values without effect. Default: all. */
  readonly neutral?: (of: UnreadValue) => boolean;
  /** How other values are reported: as an error if llama.cpp uses them. Default `warning`. */
  readonly level?: Unread['level'];
  /** The architectures it applies to; undefined for all. */
  readonly architectures?: readonly string[];
}

const is =
  (...values: readonly (number | boolean)[]) =>
  ({ value }: UnreadValue) =>
    values.includes(value as number);
const isAs = (key: string) => (of: UnreadValue) => of.value === of.number(key);
const isHeadSize = ({ value, number }: UnreadValue) =>
  value === (number('embedding_length') ?? 0) / (number('attention.head_count') ?? 1);

const RWKV = ['rwkv6', 'rwkv6qwen2', 'rwkv7', 'arwkv7'];
const MAMBA = ['mamba', 'mamba2'];
const WITHOUT_TURNS = [
  ...['gpt2', 'starcoder', 'bert', 'bloom', 'jais', 'jina-bert-v2', 'mpt', 'refact'],
  ...RWKV,
  ...MAMBA,
];

/** The first rule that matches a key applies. Keys that match none are a warning. */
const RULES: readonly KeyRule[] = [
  // Known, and not used.
  { key: /^vocab_size$/, reason: 'the embedding has as many rows' },
  { key: /^token_type_count$/, reason: 'their table has as many rows' },
  { key: /^tensor_data_layout$/, reason: 'a note of the converter' },
  {
    key: /^expert_shared_count$/,
    reason: 'files say how wide the shared experts are together',
    architectures: ['ernie4_5-moe', 'hunyuan-moe', 'hy_v3', 'nemotron_h_moe'],
  },
  { key: /^attention\.layer_norm(_rms)?_epsilon$/, reason: 'of the kind of norm that the model has not' },
  { key: /^rope\.scaling\.finetuned$/, reason: 'a note of the converter' },
  { key: /^rope\.dimension_sections$/, reason: 'positions of texts have one coordinate' },
  { key: /^classifier\./, reason: 'names what a classifier tells apart' },
  { key: /^(mm|vision|audio|image|clip|projector)\./, reason: 'of images or sound' },
  { key: /^rope\./, reason: 'no positions are turned', architectures: WITHOUT_TURNS },
  {
    key: /^attention\.head_count(_kv)?$/,
    reason: 'there is no attention',
    architectures: [...RWKV, ...MAMBA],
  },
  { key: /^feed_forward_length$/, reason: 'there is no feed-forward', architectures: MAMBA },
  // Settings whose neutral values have no effect.
  {
    key: /^attention\.causal$/,
    reason: 'which positions a row looks at is fixed for the architecture',
    neutral: ({ value, config }) => value === (config.bidirectional !== true),
    level: 'error',
  },
  {
    key: /^embedding_length_out$/,
    reason: 'rows are handed out as wide as they are computed',
    neutral: isAs('embedding_length'),
    level: 'error',
  },
  {
    key: /^attention\.(key|value)_length$/,
    reason: 'heads share the width evenly',
    neutral: isHeadSize,
    level: 'error',
  },
  {
    key: /^attention\.head_count_kv$/,
    reason: 'each head has keys of its own',
    neutral: isAs('attention.head_count'),
    level: 'error',
  },
  {
    key: /^rope\.dimension_count$/,
    reason: 'whole heads are turned',
    neutral: isHeadSize,
    level: 'error',
  },
  {
    key: /^attention\.key_length_swa$/,
    reason: 'layers with a window have the heads of the others',
    neutral: isAs('attention.key_length'),
    level: 'error',
  },
  {
    key: /^attention\.value_length_swa$/,
    reason: 'layers with a window have the heads of the others',
    neutral: isAs('attention.value_length'),
    level: 'error',
  },
  {
    key: /^rope\.dimension_count_swa$/,
    reason: 'layers with a window turn what the others turn',
    neutral: isAs('rope.dimension_count'),
    level: 'error',
  },
  {
    key: /^token_shift_count$/,
    reason: 'each half of a layer has one shift',
    neutral: is(2),
    level: 'error',
  },
  {
    key: /^nextn_predict_layers$/,
    reason: 'no layer predicts further tokens',
    neutral: is(0),
    level: 'error',
  },
  {
    key: /^(interleave_moe_layer_step|moe_every_n_layers)$/,
    reason: 'which layers are mixtures is fixed for the architecture',
    neutral: is(0, 1),
  },
  {
    key: /^expert_feed_forward_length$/,
    reason: 'experts are as wide as feed_forward_length says, as in llama.cpp for this architecture',
    neutral: ({ number, value }) =>
      (number('expert_count') ?? 0) === 0 || value === number('feed_forward_length'),
  },
  {
    key: /^expert_/,
    reason: 'mixtures of the architecture are computed without it',
    neutral: ({ number, value }) => (number('expert_count') ?? 0) === 0 || value === 0,
  },
  {
    key: /^attention\.sliding_window(_pattern)?$/,
    reason: 'rows look back on all positions, as in llama.cpp for this architecture',
    neutral: ({ number }) => {
      const window = number('attention.sliding_window') ?? 0;
      return window === 0 || window >= (number('context_length') ?? 0);
    },
  },
  { key: /^pooling_type$/, reason: 'the model continues texts and embeds none', neutral: is(0, 2 ** 32 - 1) },
  {
    key: /^rope\.scaling\.(alpha|yarn_log_multiplier)$/,
    reason: 'angles are not scaled by it',
    neutral: is(0, 1),
  },
  {
    key: /^rope\.scaling\.yarn_ext_factor$/,
    reason: 'angles that YaRN extrapolates are so wholly, as in llama.cpp for this architecture',
    neutral: ({ value }) => value === 1 || Number(value) < 0,
  },
  {
    key: /^rope\.(scale_linear|scaling\.(factor|attn_factor|original_context_length|yarn_\w+))$/,
    reason: 'of a scaling that the file does not ask for',
  },
  {
    key: /^(logit_scale|residual_scale|embedding_scale|attention\.(scale|output_scale|value_scale))$/,
    reason: 'the architecture does not scale by it',
    neutral: is(0, 1),
  },
  {
    key: /^(attn|final|router)_logit_softcapping$/,
    reason: 'the architecture has no such cap',
    neutral: is(0),
  },
  {
    key: /^attention\.(clamp_kqv|max_alibi_bias|temperature_length|temperature_scale)$/,
    reason: 'the architecture has no such thing',
    neutral: is(0),
  },
  { key: /^use_parallel_residual$/, reason: 'halves of a layer follow each other', neutral: is(false) },
];

/** Keys of the architecture that its configuration did not request and that may matter. */
export function unreadKeys(read: ConfigReader, config: ModelConfig): Unread[] {
  const { metadata, architecture } = read;
  const prefix = `${architecture}.`;
  const number = (key: string): number | undefined => {
    const value = metadata.get(prefix + key);
    return typeof value === 'number' ? value : undefined;
  };
  const found: Unread[] = [];
  for (const name of metadata.keys()) {
    if (!name.startsWith(prefix) || read.asked.has(name)) continue;
    const judged = judge(name.slice(prefix.length), { value: metadata.get(name), config, number });
    if (judged) found.push({ kind: 'key', name, count: 1, ...judged });
  }
  const unknown = unknownSamplers(metadata.get(SAMPLERS));
  if (unknown.length === 0) return found;
  const reason = `there is no sampler ${unknown.join(', ')}: the usual order is kept`;
  return [...found, { kind: 'key', name: SAMPLERS, count: 1, level: 'warning', reason }];
}

/** The samplers that a file recommends, separated by semicolons. */
const SAMPLERS = 'general.sampling.sequence';

function unknownSamplers(value: unknown): string[] {
  return typeof value === 'string' ? value.split(';').filter((name) => !samplerNamed(name)) : [];
}

function judge(key: string, of: UnreadValue): Pick<Unread, 'level' | 'reason'> | undefined {
  const { architecture } = of.config;
  const rule = RULES.find(
    (candidate) =>
      candidate.key.test(key) &&
      (candidate.architectures === undefined || candidate.architectures.includes(architecture)),
  );
  if (!rule) return { level: 'warning', reason: `not known of ${architecture}: nothing is computed with it` };
  if (!rule.neutral || rule.neutral(of)) return undefined;
  return { level: rule.level ?? 'warning', reason: rule.reason };
}
