import { invalid, isObject, readJson, readJsonList } from '../checkpoint.ts';
import type { CheckpointFamily } from '../family.ts';

const MODULES = 'modules.json';

/** Pooling by the names of sentence-transformers' settings, older and newer, as `pooling_type` of files numbers it. */
const POOLING = [
  { older: 'pooling_mode_mean_tokens', newer: 'mean', value: 1 },
  { older: 'pooling_mode_cls_token', newer: 'cls', value: 2 },
  { older: 'pooling_mode_lasttoken', newer: 'lasttoken', value: 3 },
] as const;

/** What is learned with the language model, and not needed for embeddings. */
const HEADS = /^(pooler\.|cls\.)|position_ids$/;

/** BERT as it embeds texts: BGE, MiniLM, E5, GTE and others that sentence-transformers runs. */
export const bert: CheckpointFamily = {
  classes: ['BertModel', 'BertForMaskedLM'],
  architecture: 'bert',
  tensors: {
    'embeddings.word_embeddings': 'token_embd',
    'embeddings.position_embeddings': 'position_embd',
    'embeddings.token_type_embeddings': 'token_types',
    'embeddings.LayerNorm': 'token_embd_norm',
    'encoder.layer.{}.attention.self.query': 'blk.{}.attn_q',
    'encoder.layer.{}.attention.self.key': 'blk.{}.attn_k',
    'encoder.layer.{}.attention.self.value': 'blk.{}.attn_v',
    'encoder.layer.{}.attention.output.dense': 'blk.{}.attn_output',
    'encoder.layer.{}.attention.output.LayerNorm': 'blk.{}.attn_output_norm',
    'encoder.layer.{}.intermediate.dense': 'blk.{}.ffn_up',
    'encoder.layer.{}.output.dense': 'blk.{}.ffn_down',
    'encoder.layer.{}.output.LayerNorm': 'blk.{}.layer_output_norm',
  },
  alwaysF32: ['position_embd', 'token_types'],
  hasWordPieces: true,
  // Older checkpoints have TensorFlow's names of norms.
  rename(name) {
    const own = name
      .replace(/^bert\./, '')
      .replace(/\.gamma$/, '.weight')
      .replace(/\.beta$/, '.bias');
    return HEADS.test(own) ? undefined : own;
  },
  settings(config, settings, key) {
    config.require('hidden_act', 'gelu', 'gelu_new', 'gelu_pytorch_tanh');
    config.require('position_embedding_type', 'absolute');
    config.require('is_decoder', false);
    config.get(
      'attention_probs_dropout_prob',
      'hidden_dropout_prob',
      'classifier_dropout',
      'gradient_checkpointing',
    );
    config.get('vocab_size', 'id2label', 'label2id', 'problem_type');
    settings.set(key('attention.causal'), { type: 'bool', value: false });
    const types = config.optional('type_vocab_size') ?? 1;
    settings.set('tokenizer.ggml.token_type_count', { type: 'u32', value: types });
  },
  async moreSettings(files, settings, key) {
    const modules = (await readJsonList(files, MODULES)) ?? [];
    const pooling = modules.filter(isObject).find(({ type }) => String(type).endsWith('Pooling'));
    if (!pooling) return;
    const file = `${String(pooling.path)}/config.json`;
    const config = (await readJson(files, file)) ?? invalid(file, 'nothing', 'how embeddings are pooled');
    const kind =
      POOLING.find(({ older }) => config[older] === true) ??
      POOLING.find(({ newer }) => config.pooling_mode === newer) ??
      invalid(file, 'another pooling', 'mean, cls or last token');
    settings.set(key('pooling_type'), { type: 'u32', value: kind.value });
  },
};
