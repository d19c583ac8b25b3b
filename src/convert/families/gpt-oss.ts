import { type CheckpointFamily, DECODER_TENSORS } from '../family.ts';

const GATE_AND_UP = ['blk.{}.ffn_gate_exps', 'blk.{}.ffn_up_exps'] as const;

/** The factors of the clamped SwiGLU that the architecture has. */
const SWIGLU_LIMIT = 7;

/** gpt-oss, with experts in MXFP4: rows of gate and up take turns, and are two tensors in the file. */
export const gptOss: CheckpointFamily = {
  classes: ['GptOssForCausalLM'],
  architecture: 'gpt-oss',
  tensors: {
    'model.embed_tokens': DECODER_TENSORS['model.embed_tokens'],
    'model.norm': DECODER_TENSORS['model.norm'],
    lm_head: DECODER_TENSORS.lm_head,
    'model.layers.{}.input_layernorm': 'blk.{}.attn_norm',
    'model.layers.{}.self_attn.q_proj': 'blk.{}.attn_q',
    'model.layers.{}.self_attn.k_proj': 'blk.{}.attn_k',
    'model.layers.{}.self_attn.v_proj': 'blk.{}.attn_v',
    'model.layers.{}.self_attn.o_proj': 'blk.{}.attn_output',
    'model.layers.{}.self_attn.sinks': 'blk.{}.attn_sinks.weight',
    'model.layers.{}.post_attention_layernorm': 'blk.{}.post_attention_norm',
    'model.layers.{}.mlp.router': 'blk.{}.ffn_gate_inp',
    'model.layers.{}.mlp.experts.gate_up_proj_blocks': GATE_AND_UP.map((name) => `${name}.weight`),
    'model.layers.{}.mlp.experts.gate_up_proj_bias': GATE_AND_UP.map((name) => `${name}.bias`),
    'model.layers.{}.mlp.experts.down_proj_blocks': 'blk.{}.ffn_down_exps.weight',
    'model.layers.{}.mlp.experts.down_proj_bias': 'blk.{}.ffn_down_exps.bias',
  },
  alwaysF32: ['ffn_gate_inp'],
  hasMxfp4: true,
  settings(config, settings, key) {
    config.require('hidden_act', 'silu');
    config.require('swiglu_limit', SWIGLU_LIMIT);
    config.require('attention_bias', true);
    const layers = Array.from({ length: config.number('num_hidden_layers') }, (_, layer) => layer);
    config.require(
      'layer_types',
      layers.map((layer) => (layer % 2 === 0 ? 'sliding' : 'full') + '_attention'),
    );
    config.get('experts_per_token', 'initial_context_length');
    const set = (name: string, value: number) => settings.set(key(name), { type: 'u32', value });
    set('attention.sliding_window', config.number('sliding_window'));
    set('expert_feed_forward_length', config.number('intermediate_size'));
  },
  change({ name, target, shape }) {
    if (!name.includes('gate_up_proj')) return undefined;
    const [experts = 0, rows = 0] = shape;
    const first = target.includes('ffn_up_exps') ? 1 : 0;
    return { shape: [experts, rows / 2], order: (row) => 2 * row + first, unit: 1 };
  },
};
