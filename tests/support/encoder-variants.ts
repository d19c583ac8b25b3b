import { count, QKV_BIASES, real, text } from '../../src/model/synthetic-family.ts';
import { type FamilyVariant, texts } from './family-variant.ts';

/** An encoder's sizes and pooling. */
function pooled(
  kind: number,
  more: FamilyVariant['metadata'] = {},
): Pick<FamilyVariant, 'sizes' | 'metadata'> {
  return { sizes: { kvHeads: 4 }, metadata: { pooling_type: count(kind), ...more } };
}

/** Variants of models that embed or rank. */
export const ENCODER_VARIANTS: readonly FamilyVariant[] = [
  {
    name: 'Gemma 3 that embeds, mean',
    architecture: 'gemma3',
    encodes: true,
    metadata: { pooling_type: count(1) },
  },
  {
    name: 'nomic-bert-moe, a mixture in each layer but the first of three',
    architecture: 'nomic-bert-moe',
    encodes: true,
    sizes: { kvHeads: 4, layers: 3 },
    metadata: { moe_every_n_layers: count(3), pooling_type: count(2) },
    without: [...QKV_BIASES, 'attn_output.bias'],
    having: ['attn_qkv.weight', 'attn_qkv.bias'],
  },
  {
    name: 'bert, a classifier without a dense layer, three labels',
    architecture: 'bert',
    scores: 3,
    ...pooled(4, { 'classifier.output_labels': texts('good', 'bad', 'neither') }),
    having: ['cls.output.weight', 'cls.output.bias'],
  },
  { name: 'bert, first row', architecture: 'bert', encodes: true, ...pooled(2) },
  {
    name: 'bert, last row, no types',
    architecture: 'bert',
    encodes: true,
    ...pooled(3),
    without: ['token_types.weight'],
  },
  {
    name: 'bert, scales',
    architecture: 'bert',
    encodes: true,
    ...pooled(1),
    having: ['attn_q.scale', 'attn_k.scale', 'attn_v.scale', 'attn_output.scale'],
    idle: { 'ffn_up.scale': [1], 'ffn_down.scale': [1] },
  },
  {
    name: 'nomic-bert, mean, linear scaling',
    architecture: 'nomic-bert',
    encodes: true,
    ...pooled(1, { 'rope.scaling.type': text('linear'), 'rope.scaling.factor': real(4) }),
  },
];
