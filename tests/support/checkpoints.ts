import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { floatToHalf } from '../../src/base/half.ts';
import type { OutputType } from '../../src/convert/convert-plan.ts';
import { byteCharacters } from '../../src/text/byte-alphabet.ts';

/** Small random checkpoints as Hugging Face's libraries store them, of each family that is converted. */

type StoredType = 'F32' | 'F16' | 'BF16';

interface Checkpoint {
  /** What llama.cpp's converter is told, too. */
  readonly outtype: Exclude<OutputType, 'auto'>;
  readonly type: StoredType;
  readonly config: Readonly<Record<string, unknown>>;
  readonly tensors: Readonly<Record<string, readonly number[]>>;
  readonly tokenizer: 'pieces' | 'pairs';
  /** Whether the tensors are in two files with an index. */
  readonly sharded?: boolean;
}

const WIDTH = 64;
const VOCABULARY = 320;

const SIZES = {
  hidden_size: WIDTH,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 128,
  vocab_size: VOCABULARY,
  intermediate_size: 96,
  rms_norm_eps: 1e-5,
  rope_theta: 500000,
  hidden_act: 'silu',
  bos_token_id: 1,
  eos_token_id: 2,
} as const;

function layered(of: Readonly<Record<string, readonly number[]>>): Record<string, readonly number[]> {
  const layers = [0, 1].flatMap((layer) =>
    Object.entries(of).map(([name, shape]) => [`model.layers.${layer}.${name}`, shape] as const),
  );
  return Object.fromEntries(layers);
}

const ENDS = { 'model.embed_tokens.weight': [VOCABULARY, WIDTH], 'model.norm.weight': [WIDTH] } as const;
const HEAD = { 'lm_head.weight': [VOCABULARY, WIDTH] } as const;
const NORMS = { 'input_layernorm.weight': [WIDTH], 'post_attention_layernorm.weight': [WIDTH] } as const;
const HEAD_NORMS = { 'self_attn.q_norm.weight': [16], 'self_attn.k_norm.weight': [16] } as const;

const ATTENTION = {
  'self_attn.q_proj.weight': [WIDTH, WIDTH],
  'self_attn.k_proj.weight': [32, WIDTH],
  'self_attn.v_proj.weight': [32, WIDTH],
  'self_attn.o_proj.weight': [WIDTH, WIDTH],
} as const;

function feedForward(hidden: number): Record<string, readonly number[]> {
  return {
    'mlp.gate_proj.weight': [hidden, WIDTH],
    'mlp.up_proj.weight': [hidden, WIDTH],
    'mlp.down_proj.weight': [WIDTH, hidden],
  };
}

function experts(path: string, [gate, up, down]: readonly [string, string, string]) {
  const one = { [gate]: [96, WIDTH], [up]: [96, WIDTH], [down]: [WIDTH, 96] };
  const all = [0, 1, 2, 3].flatMap((expert) =>
    Object.entries(one).map(([name, shape]) => [`${path}.experts.${expert}.${name}.weight`, shape] as const),
  );
  return { [`${path}.gate.weight`]: [4, WIDTH], ...Object.fromEntries(all) };
}

/** The checkpoints by the names of their folders. */
export const CHECKPOINTS: Readonly<Record<string, Checkpoint>> = {
  llama: {
    outtype: 'f32',
    type: 'BF16',
    config: {
      ...SIZES,
      architectures: ['LlamaForCausalLM'],
      model_type: 'llama',
      head_dim: 16,
      rope_scaling: {
        rope_type: 'llama3',
        factor: 8,
        low_freq_factor: 1,
        high_freq_factor: 4,
        original_max_position_embeddings: 64,
      },
    },
    tensors: { ...ENDS, ...HEAD, ...layered({ ...NORMS, ...ATTENTION, ...feedForward(96) }) },
    tokenizer: 'pieces',
    sharded: true,
  },
  mixtral: {
    outtype: 'q8_0',
    type: 'F16',
    config: {
      ...SIZES,
      architectures: ['MixtralForCausalLM'],
      model_type: 'mixtral',
      num_local_experts: 4,
      num_experts_per_tok: 2,
    },
    tensors: {
      ...ENDS,
      ...HEAD,
      ...layered({ ...NORMS, ...ATTENTION, ...experts('block_sparse_moe', ['w1', 'w3', 'w2']) }),
    },
    tokenizer: 'pieces',
  },
  qwen2: {
    outtype: 'f16',
    type: 'F32',
    config: { ...SIZES, architectures: ['Qwen2ForCausalLM'], model_type: 'qwen2' },
    tensors: {
      ...ENDS,
      ...layered({
        ...NORMS,
        ...ATTENTION,
        ...feedForward(96),
        'self_attn.q_proj.bias': [WIDTH],
        'self_attn.k_proj.bias': [32],
        'self_attn.v_proj.bias': [32],
      }),
    },
    tokenizer: 'pairs',
  },
  qwen3moe: {
    outtype: 'bf16',
    type: 'F32',
    config: {
      ...SIZES,
      architectures: ['Qwen3MoeForCausalLM'],
      model_type: 'qwen3_moe',
      head_dim: 16,
      num_experts: 4,
      num_experts_per_tok: 2,
      moe_intermediate_size: 96,
      norm_topk_prob: true,
      decoder_sparse_step: 1,
      mlp_only_layers: [],
    },
    tensors: {
      ...ENDS,
      ...HEAD,
      ...layered({
        ...NORMS,
        ...HEAD_NORMS,
        ...ATTENTION,
        ...experts('mlp', ['gate_proj', 'up_proj', 'down_proj']),
      }),
    },
    tokenizer: 'pairs',
  },
  qwen2moe: {
    outtype: 'f16',
    type: 'BF16',
    config: {
      ...SIZES,
      architectures: ['Qwen2MoeForCausalLM'],
      model_type: 'qwen2_moe',
      num_experts: 4,
      num_experts_per_tok: 2,
      moe_intermediate_size: 96,
      shared_expert_intermediate_size: 128,
      norm_topk_prob: false,
      decoder_sparse_step: 1,
    },
    tensors: {
      ...ENDS,
      ...HEAD,
      ...layered({
        ...NORMS,
        ...ATTENTION,
        'self_attn.q_proj.bias': [WIDTH],
        'self_attn.k_proj.bias': [32],
        'self_attn.v_proj.bias': [32],
        ...experts('mlp', ['gate_proj', 'up_proj', 'down_proj']),
        'mlp.shared_expert.gate_proj.weight': [128, WIDTH],
        'mlp.shared_expert.up_proj.weight': [128, WIDTH],
        'mlp.shared_expert.down_proj.weight': [WIDTH, 128],
        'mlp.shared_expert_gate.weight': [1, WIDTH],
      }),
    },
    tokenizer: 'pairs',
  },
  granite: {
    outtype: 'bf16',
    type: 'BF16',
    config: {
      ...SIZES,
      architectures: ['GraniteForCausalLM'],
      model_type: 'granite',
      attention_multiplier: 0.0625,
      embedding_multiplier: 12,
      residual_multiplier: 0.22,
      logits_scaling: 8,
    },
    tensors: { ...ENDS, ...layered({ ...NORMS, ...ATTENTION, ...feedForward(96) }) },
    tokenizer: 'pairs',
  },
  smollm3: {
    outtype: 'f16',
    type: 'F32',
    config: {
      ...SIZES,
      architectures: ['SmolLM3ForCausalLM'],
      model_type: 'smollm3',
      no_rope_layer_interval: 4,
      no_rope_layers: [1, 1],
      use_sliding_window: false,
      layer_types: ['full_attention', 'full_attention'],
    },
    tensors: { ...ENDS, ...layered({ ...NORMS, ...ATTENTION, ...feedForward(96) }) },
    tokenizer: 'pairs',
  },
  olmo2: {
    outtype: 'q8_0',
    type: 'BF16',
    config: { ...SIZES, architectures: ['Olmo2ForCausalLM'], model_type: 'olmo2' },
    tensors: {
      ...ENDS,
      ...HEAD,
      ...layered({
        'post_attention_layernorm.weight': [WIDTH],
        'post_feedforward_layernorm.weight': [WIDTH],
        'self_attn.q_norm.weight': [WIDTH],
        'self_attn.k_norm.weight': [32],
        ...ATTENTION,
        ...feedForward(96),
      }),
    },
    tokenizer: 'pairs',
  },
  olmo3: {
    outtype: 'f16',
    type: 'F32',
    config: {
      ...SIZES,
      architectures: ['Olmo3ForCausalLM'],
      model_type: 'olmo3',
      sliding_window: 32,
      layer_types: ['sliding_attention', 'full_attention'],
    },
    tensors: {
      ...ENDS,
      ...HEAD,
      ...layered({
        'post_attention_layernorm.weight': [WIDTH],
        'post_feedforward_layernorm.weight': [WIDTH],
        'self_attn.q_norm.weight': [WIDTH],
        'self_attn.k_norm.weight': [32],
        ...ATTENTION,
        ...feedForward(96),
      }),
    },
    tokenizer: 'pairs',
  },
  gemma2: {
    outtype: 'f16',
    type: 'BF16',
    config: {
      ...SIZES,
      hidden_act: 'gelu_pytorch_tanh',
      architectures: ['Gemma2ForCausalLM'],
      model_type: 'gemma2',
      rope_theta: 10000,
      hidden_activation: 'gelu_pytorch_tanh',
      head_dim: 16,
      attn_logit_softcapping: 50,
      final_logit_softcapping: 30,
      sliding_window: 32,
      query_pre_attn_scalar: 16,
    },
    tensors: {
      ...ENDS,
      ...layered({
        ...NORMS,
        ...ATTENTION,
        ...feedForward(96),
        'pre_feedforward_layernorm.weight': [WIDTH],
        'post_feedforward_layernorm.weight': [WIDTH],
      }),
    },
    tokenizer: 'pieces',
  },
  gemma3: {
    outtype: 'q8_0',
    type: 'F16',
    config: {
      ...SIZES,
      hidden_act: undefined,
      architectures: ['Gemma3ForCausalLM'],
      model_type: 'gemma3_text',
      hidden_activation: 'gelu_pytorch_tanh',
      head_dim: 16,
      intermediate_size: 80,
      sliding_window: 32,
      sliding_window_pattern: 6,
      rope_local_base_freq: 10000,
      query_pre_attn_scalar: 16,
    },
    tensors: {
      ...ENDS,
      ...layered({
        ...NORMS,
        ...HEAD_NORMS,
        ...ATTENTION,
        ...feedForward(80),
        'pre_feedforward_layernorm.weight': [WIDTH],
        'post_feedforward_layernorm.weight': [WIDTH],
      }),
    },
    tokenizer: 'pieces',
  },
  lfm2: {
    outtype: 'f16',
    type: 'BF16',
    config: {
      ...SIZES,
      hidden_act: undefined,
      rms_norm_eps: undefined,
      norm_eps: 1e-5,
      architectures: ['Lfm2ForCausalLM'],
      model_type: 'lfm2',
      layer_types: ['conv', 'full_attention'],
      conv_L_cache: 3,
      conv_bias: false,
      block_auto_adjust_ff_dim: true,
      block_ff_dim: 96,
      block_ffn_dim_multiplier: 1,
      block_multiple_of: 32,
    },
    tensors: {
      'model.embed_tokens.weight': [VOCABULARY, WIDTH],
      'model.embedding_norm.weight': [WIDTH],
      ...layered({
        'operator_norm.weight': [WIDTH],
        'ffn_norm.weight': [WIDTH],
        'feed_forward.w1.weight': [64, WIDTH],
        'feed_forward.w2.weight': [WIDTH, 64],
        'feed_forward.w3.weight': [64, WIDTH],
      }),
      'model.layers.0.conv.conv.weight': [WIDTH, 1, 3],
      'model.layers.0.conv.in_proj.weight': [3 * WIDTH, WIDTH],
      'model.layers.0.conv.out_proj.weight': [WIDTH, WIDTH],
      'model.layers.1.self_attn.q_proj.weight': [WIDTH, WIDTH],
      'model.layers.1.self_attn.k_proj.weight': [32, WIDTH],
      'model.layers.1.self_attn.v_proj.weight': [32, WIDTH],
      'model.layers.1.self_attn.out_proj.weight': [WIDTH, WIDTH],
      'model.layers.1.self_attn.q_layernorm.weight': [16],
      'model.layers.1.self_attn.k_layernorm.weight': [16],
    },
    tokenizer: 'pairs',
  },
};

/** A text of six chunks of 64 tokens for them. */
export const CHECKPOINT_TEXT = Array.from({ length: 400 }, (_, i) => 'abcdefghij'[(i * i * 7 + i) % 10]).join(
  '',
);

/** Writes a checkpoint into a new folder and returns it; `changes` replace settings. */
export function writeCheckpoint(parent: string, name: string, changes: Record<string, unknown> = {}): string {
  const checkpoint = CHECKPOINTS[name];
  if (!checkpoint) throw new Error(`no checkpoint ${name}`);
  const folder = join(parent, name);
  mkdirSync(folder);
  const json = (file: string, value: unknown) => writeFileSync(join(folder, file), JSON.stringify(value));
  json('config.json', { ...checkpoint.config, ...changes });
  json('generation_config.json', { do_sample: true, temperature: 0.5, top_k: 20, eos_token_id: 2 });
  const entries = Object.entries(checkpoint.tensors);
  if (checkpoint.sharded) {
    const half = Math.ceil(entries.length / 2);
    const parts = [entries.slice(0, half), entries.slice(half)];
    const names = parts.map((_, i) => `model-0000${i + 1}-of-00002.safetensors`);
    const weights = parts.flatMap((part, i) => part.map(([tensor]) => [tensor, names[i]] as const));
    json('model.safetensors.index.json', { weight_map: Object.fromEntries(weights) });
    for (const [i, part] of parts.entries()) {
      writeFileSync(join(folder, names[i] ?? ''), safetensors(part, checkpoint.type, i));
    }
  } else {
    writeFileSync(join(folder, 'model.safetensors'), safetensors(entries, checkpoint.type, 7));
  }
  json('tokenizer_config.json', {
    tokenizer_class: checkpoint.tokenizer === 'pairs' ? 'PreTrainedTokenizerFast' : 'LlamaTokenizer',
    bos_token: '<s>',
    eos_token: '</s>',
    add_bos_token: checkpoint.tokenizer === 'pieces',
    chat_template: '{{ messages[0].content }}',
    ...(checkpoint.tokenizer === 'pieces' && {
      added_tokens_decoder: {
        300: { content: '<turn>', special: true },
        301: { content: '\u2581x', special: false },
      },
    }),
  });
  if (checkpoint.tokenizer === 'pieces') writeFileSync(join(folder, 'tokenizer.model'), pieces());
  else json('tokenizer.json', bytePairs());
  return folder;
}

/** A safetensors file of random numbers, about normal. */
function safetensors(
  tensors: readonly (readonly [string, readonly number[]])[],
  type: StoredType,
  seed: number,
): Uint8Array {
  const random = generator(seed);
  const parts: Uint8Array[] = [];
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } };
  let at = 0;
  for (const [name, shape] of tensors) {
    const count = shape.reduce((a, b) => a * b, 1);
    const bytes = encoded(
      Array.from({ length: count }, () => (random() + random() + random() - 1.5) / 2),
      type,
    );
    header[name] = { dtype: type, shape, data_offsets: [at, at + bytes.byteLength] };
    at += bytes.byteLength;
    parts.push(bytes);
  }
  const text = Buffer.from(JSON.stringify(header));
  const start = Buffer.alloc(8);
  start.writeBigUInt64LE(BigInt(text.byteLength));
  return Buffer.concat([start, text, ...parts]);
}

function encoded(values: readonly number[], type: StoredType): Uint8Array {
  const floats = Float32Array.from(values);
  if (type === 'F32') return new Uint8Array(floats.buffer);
  const bits = new Uint32Array(floats.buffer);
  const halves = Uint16Array.from(values, (value, i) =>
    type === 'F16' ? floatToHalf(value) : (bits[i] ?? 0) >>> 16,
  );
  return new Uint8Array(halves.buffer);
}

function generator(seed: number): () => number {
  let state = seed * 2654435761 + 12345;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A SentencePiece model: unknown, begin, end, bytes, letters. */
function pieces(): Uint8Array {
  const piece = (text: string, score: number, type: number) => {
    const bytes = Buffer.from(text);
    const number = Buffer.alloc(4);
    number.writeFloatLE(score);
    return field(1, Buffer.concat([field(1, bytes), Buffer.from([0x15]), number, Buffer.from([0x18, type])]));
  };
  const bytes = Array.from({ length: 256 }, (_, byte) =>
    piece(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`, 0, 6),
  );
  const letters = [...'\u2581abcdefghijklmnopqrstuvwxyz'].map((letter, i) => piece(letter, -i, 1));
  const all = [piece('<unk>', 0, 2), piece('<s>', 0, 3), piece('</s>', 0, 3), ...bytes, ...letters];
  const user = piece('\u2581\u2581', 0, 4);
  // A byte-pair model with bytes, without a normalizer.
  const trainer = field(2, Buffer.from([0x18, 2, 0x98, 2, 1]));
  return Buffer.concat([...all, user, trainer, field(3, field(1, Buffer.from('identity')))]);
}

function field(number: number, bytes: Uint8Array): Buffer {
  const length = [bytes.byteLength & 127, bytes.byteLength >> 7];
  const size = bytes.byteLength < 128 ? [bytes.byteLength] : [(length[0] ?? 0) | 128, length[1] ?? 0];
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...size]), bytes]);
}

/** A byte-pair tokenizer that splits like Qwen 2's. */
function bytePairs(): unknown {
  const vocabulary = ['<unk>', '<s>', '</s>', ...byteCharacters(), 'ab', 'abc', '\u0120a'];
  const pattern =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
  const added = (id: number, content: string, special: boolean) => {
    const rules = { single_word: false, lstrip: false, rstrip: false, normalized: false };
    return { id, content, ...rules, special };
  };
  return {
    version: '1.0',
    added_tokens: [
      added(1, '<s>', true),
      added(2, '</s>', true),
      added(262, '<|turn|>', false),
      added(263, '<x>', false),
      added(264, '<|endoftext|>', true),
    ],
    normalizer: { type: 'NFC' },
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
      ],
    },
    post_processor: {
      type: 'TemplateProcessing',
      single: [{ SpecialToken: { id: '<s>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
      pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
      special_tokens: { '<s>': { id: '<s>', ids: [1], tokens: ['<s>'] } },
    },
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(vocabulary.map((text, id) => [text, id])),
      merges: [
        ['a', 'b'],
        ['ab', 'c'],
        ['\u0120', 'a'],
      ],
    },
  };
}
