import type { GgufValue } from '../../gguf/index.ts';
import type { SyntheticShape } from './shapes.ts';
import { count, real, text } from './values.ts';

/** What a synthetic file of an architecture says and has beyond what all of them do. */
export interface SyntheticFamily {
  /** Metadata below the architecture's name, by key. */
  readonly metadata?: (shape: SyntheticShape) => Readonly<Record<string, GgufValue>>;
  /** Tensors that a file of the architecture may have or not, and this one has: names within a layer, or the whole model. */
  readonly optional?: readonly string[];
}

/** Short enough that a text of a few words is longer. */
const WINDOW = 8;

const QKV_BIASES = ['attn_q.bias', 'attn_k.bias', 'attn_v.bias'];
const LAYER_NORM_BIASES = ['attn_norm.bias', 'ffn_norm.bias', 'output_norm.bias'];
const OUTPUT = 'output.weight';

/** The architectures that models can be made up of. */
export const SYNTHETIC_FAMILIES: Readonly<Record<string, SyntheticFamily>> = {
  llama: { optional: [OUTPUT] },
  qwen2: { optional: [OUTPUT, ...QKV_BIASES] },
  qwen3: { metadata: (shape) => headSizes(2 * (shape.width / shape.heads)) },
  phi3: {
    metadata: ({ context }) => ({
      'rope.scaling.original_context_length': count(context / 4),
      'rope.scaling.attn_factor': real(1.19),
    }),
    optional: [OUTPUT, 'attn_qkv.weight', 'rope_factors_long.weight', 'rope_factors_short.weight'],
  },
  chatglm: { metadata: halfTurned, optional: [OUTPUT, 'attn_qkv.weight', 'attn_qkv.bias'] },
  glm4: { metadata: halfTurned, optional: [OUTPUT, ...QKV_BIASES] },
  gemma2: {
    metadata: (shape) => ({
      ...headSizes(2 * (shape.width / shape.heads)),
      'attention.sliding_window': count(WINDOW),
      attn_logit_softcapping: real(50),
      final_logit_softcapping: real(30),
    }),
  },
  gemma3: {
    metadata: (shape) => ({
      ...headSizes(2 * (shape.width / shape.heads)),
      'attention.sliding_window': count(WINDOW),
      'rope.scaling.type': text('linear'),
      'rope.scaling.factor': real(8),
    }),
  },
  olmo2: { optional: [OUTPUT] },
  starcoder2: {
    optional: [...LAYER_NORM_BIASES, ...QKV_BIASES, 'attn_output.bias', 'ffn_up.bias', 'ffn_down.bias'],
  },
  gpt2: {
    optional: [
      OUTPUT,
      ...LAYER_NORM_BIASES,
      'attn_qkv.weight',
      'attn_qkv.bias',
      'attn_output.bias',
      'ffn_up.bias',
      'ffn_down.bias',
    ],
  },
};

/** Heads that are wider than the residual stream has room for. */
function headSizes(size: number): Record<string, GgufValue> {
  return {
    'attention.key_length': count(size),
    'attention.value_length': count(size),
    'rope.dimension_count': count(size),
  };
}

function halfTurned({ width, heads }: SyntheticShape): Record<string, GgufValue> {
  return { 'rope.dimension_count': count(width / heads / 2) };
}
