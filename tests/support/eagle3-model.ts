import { asBytes } from '../../src/base/bytes.ts';
import { seededRandom } from '../../src/base/seeded-random.ts';
import { GgufFile, type GgufPlan, GgufWriter, type GgufValue } from '../../src/gguf/index.ts';
import { MemorySink, MemorySource } from '../../src/io/index.ts';
import { format } from './gguf-files.ts';
import { TINY, tinyPlan } from './tiny-model.ts';

/** A random EAGLE-3 drafter of the tiny Llama. */
export interface Eagle3Options {
  /** Another architecture, for a file that is refused. */
  readonly architecture?: string;
  readonly width: number;
  readonly heads: number;
  readonly kvHeads: number;
  /** The layers whose inputs it reads. */
  readonly features: readonly number[];
  readonly targetWidth?: number;
  /** Ids of the model that its own vocabulary has. Default: it uses the model's embedding and output. */
  readonly ids?: readonly number[];
  /** Norms of the features, and of what attention is added to; both in later files. */
  readonly normed?: boolean;
  /** A tensor that no drafter has. */
  readonly foreign?: boolean;
}

/** The width of the feed-forward. */
export const DRAFTER_HIDDEN = 80;

function planOf(of: Eagle3Options): GgufPlan {
  const { width, heads, kvHeads, ids } = of;
  const [headSize, targetWidth] = [width / heads, of.targetWidth ?? TINY.width];
  const matrix = (name: string, shape: number[]) => ({ name, format: format('F32'), shape });
  const u32 = (value: number): GgufValue => ({ type: 'u32', value });
  const architecture = of.architecture ?? 'eagle3';
  const own: readonly [string, GgufValue][] = [
    ['embedding_length', u32(width)],
    ['block_count', u32(1)],
    ['attention.head_count', u32(heads)],
    ['attention.head_count_kv', u32(kvHeads)],
    ['feed_forward_length', u32(DRAFTER_HIDDEN)],
    ['context_length', u32(TINY.context)],
    ['attention.layer_norm_rms_epsilon', { type: 'f32', value: 1e-5 }],
    ['rope.freq_base', { type: 'f32', value: 500 }],
    ['target_layers', { type: 'array', element: 'u32', values: [...of.features] }],
    ['target_hidden_size', u32(targetWidth)],
    ['norm_before_residual', { type: 'bool', value: of.normed ?? false }],
    ['norm_before_fc', { type: 'bool', value: of.normed ?? false }],
  ];
  const tokenizer = [...tinyPlan('F32').metadata].filter(([name]) => name.startsWith('tokenizer.ggml.'));
  return {
    metadata: [
      ['general.architecture', { type: 'string', value: architecture }],
      ...own.map(([name, value]) => [`${architecture}.${name}`, value] as const),
      ...tokenizer,
    ],
    tensors: [
      matrix('fc.weight', [of.features.length * targetWidth, width]),
      matrix('blk.0.attn_norm.weight', [width]),
      matrix('blk.0.attn_norm_2.weight', [width]),
      matrix('blk.0.attn_q.weight', [2 * width, width]),
      matrix('blk.0.attn_k.weight', [2 * width, kvHeads * headSize]),
      matrix('blk.0.attn_v.weight', [2 * width, kvHeads * headSize]),
      matrix('blk.0.attn_output.weight', [width, width]),
      matrix('blk.0.ffn_norm.weight', [width]),
      matrix('blk.0.ffn_gate.weight', [width, DRAFTER_HIDDEN]),
      matrix('blk.0.ffn_up.weight', [width, DRAFTER_HIDDEN]),
      matrix('blk.0.ffn_down.weight', [DRAFTER_HIDDEN, width]),
      matrix('output_norm.weight', [width]),
      ...(ids
        ? [
            matrix('token_embd.weight', [width, TINY.vocabulary]),
            matrix('output.weight', [width, ids.length]),
            { name: 'd2t', format: format('I64'), shape: [ids.length] },
            matrix('rope_freqs.weight', [headSize / 2]),
          ]
        : []),
      ...(of.normed ? [matrix('enc.output_norm.weight', [of.features.length * targetWidth])] : []),
      ...(of.foreign ? [matrix('fc2.weight', [width, width])] : []),
    ],
  };
}

/** The drafter's file. */
export async function eagle3Model(of: Eagle3Options, seed = 4): Promise<GgufFile> {
  const sink = new MemorySink();
  const writer = await GgufWriter.begin(sink, planOf(of));
  const random = seededRandom(seed);
  for (let tensor = writer.next; tensor; tensor = writer.next) {
    const [columns = 1, rows] = tensor.shape;
    const isMatrix = rows !== undefined;
    const values =
      tensor.name === 'd2t'
        ? BigInt64Array.from(of.ids ?? [], BigInt)
        : Float32Array.from({ length: tensor.byteLength / 4 }, () =>
            isMatrix ? (4 * (random() - 0.5)) / Math.sqrt(columns) : 0.5 + random(),
          );
    await writer.write(asBytes(values));
  }
  writer.end();
  return GgufFile.open(new MemorySource(sink.bytes(), 'drafter.gguf'));
}
