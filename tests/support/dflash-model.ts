import { asBytes } from '../../src/base/bytes.ts';
import { seededRandom } from '../../src/base/seeded-random.ts';
import { GgufFile, type GgufPlan, GgufWriter, type GgufValue } from '../../src/gguf/index.ts';
import { MemorySink, MemorySource } from '../../src/io/index.ts';
import { writeRandomWeights } from '../../src/model/synthetic/random-weights.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import { syntheticPlan } from '../../src/model/synthetic/synthetic-plan.ts';
import { fixture } from './fixture.ts';
import { format } from './gguf-files.ts';
import { TINY, tinyPlan } from './tiny-model.ts';

/** A random DFlash drafter of the tiny Llama. */
export interface DflashOptions {
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headSize: number;
  /** The layers of the model whose inputs it reads. */
  readonly features: readonly number[];
  readonly block: number;
  readonly mask?: number;
  /** Another width than the model's, for a file that is refused. */
  readonly width?: number;
  /** Positions of the window of every other layer. Default: none has one. */
  readonly window?: number;
  /** Ids of the model that its own vocabulary has. Default: it uses the model's embedding and output. */
  readonly ids?: readonly number[];
  /** Sinks, norms of what is added, scales of layers and frequencies; values are keys. */
  readonly extras?: boolean;
  /** Whether positions have sections, as those of models for images. */
  readonly sections?: boolean;
  /** Whether rows of a block see those before them only. */
  readonly causal?: boolean;
  /** A tensor that only other drafters have. */
  readonly foreign?: string;
}

/** The width of the feed-forward, and the factor on embeddings of files with extras. */
export const DFLASH = { hidden: 80, embeddingScale: 1.5, softCap: 6, base: 500 };

/** Shares the model's embedding and output; each row of a block sees all of it. */
export const SHARING: DflashOptions = {
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headSize: 16,
  features: [1, 2],
  block: 6,
};

/** Everything that files may have, a vocabulary of its own, and windows, which the longer prompt exceeds. */
export const EVERYTHING: DflashOptions = {
  layers: 3,
  heads: 2,
  kvHeads: 1,
  headSize: 24,
  features: [0, 1, 2],
  block: 4,
  mask: 5,
  window: 12,
  ids: [200, 22, 9, 20, 21, 57],
  extras: true,
};

/** The drafters of the tests, by what sets them apart. */
export const DFLASH_KINDS: Readonly<Record<string, DflashOptions>> = {
  'shared tables': SHARING,
  'all that files may have': EVERYTHING,
  'blocks whose rows see those before them': { ...SHARING, causal: true, window: 12, sections: true },
};

/** What llama.cpp says of each kind, a line for each text (`bench/dflash-goldens.ts`). */
export const DFLASH_GOLDEN = fixture('goldens/dflash.jsonl');

/** The logits of some ids in place of each mask behind the ids. */
export interface DflashGolden {
  readonly kind: string;
  readonly ids: readonly number[];
  readonly rows: readonly (readonly (readonly [id: number, logit: number])[])[];
}

function metadataOf(of: DflashOptions): GgufPlan['metadata'] {
  const { layers, heads, kvHeads, headSize, extras, window } = of;
  const u32 = (value: number): GgufValue => ({ type: 'u32', value });
  const f32 = (value: number): GgufValue => ({ type: 'f32', value });
  const everyOther = Array.from({ length: layers }, (_, layer) => layer % 2 === 0);
  const own: readonly (readonly [string, GgufValue])[] = [
    ['embedding_length', u32(of.width ?? TINY.width)],
    ['block_count', u32(layers)],
    ['attention.head_count', u32(heads)],
    ['attention.head_count_kv', u32(kvHeads)],
    ['attention.key_length', u32(headSize)],
    ['attention.value_length', u32(headSize)],
    ['feed_forward_length', u32(DFLASH.hidden)],
    ['context_length', u32(TINY.context)],
    ['attention.layer_norm_rms_epsilon', f32(1e-5)],
    ['rope.freq_base', f32(DFLASH.base)],
    ['target_layers', { type: 'array', element: 'u32', values: [...of.features] }],
    ['block_size', u32(of.block)],
    ...(of.causal === undefined ? [] : [['attention.causal', { type: 'bool', value: of.causal }] as const]),
    ...(of.sections
      ? ([
          ['rope.dimension_sections', { type: 'array', element: 'i32', values: [headSize / 2, 0, 0, 0] }],
        ] as const)
      : []),
    ...(window === undefined
      ? []
      : ([
          ['attention.sliding_window', u32(window)],
          ['attention.sliding_window_pattern', { type: 'array', element: 'bool', values: everyOther }],
        ] as const)),
    ...(extras
      ? ([
          ['embedding_scale', f32(DFLASH.embeddingScale)],
          ['final_logit_softcapping', f32(DFLASH.softCap)],
          ['hidden_activation', { type: 'string', value: 'gelu_pytorch_tanh' }],
        ] as const)
      : []),
  ];
  const tokenizer = [...tinyPlan('F32').metadata].filter(([name]) => name.startsWith('tokenizer.ggml.'));
  return [
    ['general.architecture', { type: 'string', value: 'dflash' }],
    ...own.map(([name, value]) => [`dflash.${name}`, value] as const),
    ...tokenizer,
    ['tokenizer.ggml.mask_token_id', u32(of.mask ?? 4)],
  ];
}

function tensorsOf(of: DflashOptions): GgufPlan['tensors'] {
  const { layers, heads, kvHeads, headSize, extras, ids, width = TINY.width } = of;
  const matrix = (name: string, shape: number[]) => ({ name, format: format('F32'), shape });
  const layer = (index: number) =>
    [
      matrix('attn_norm', [width]),
      matrix('attn_q', [width, heads * headSize]),
      matrix('attn_k', [width, kvHeads * headSize]),
      ...(extras ? [] : [matrix('attn_v', [width, kvHeads * headSize])]),
      matrix('attn_output', [heads * headSize, width]),
      matrix('attn_q_norm', [headSize]),
      matrix('attn_k_norm', [headSize]),
      matrix('ffn_norm', [width]),
      matrix('ffn_gate', [width, DFLASH.hidden]),
      matrix('ffn_up', [width, DFLASH.hidden]),
      matrix('ffn_down', [DFLASH.hidden, width]),
      ...(extras
        ? [
            matrix('attn_sinks', [heads]),
            matrix('post_attention_norm', [width]),
            matrix('post_ffw_norm', [width]),
            matrix('layer_output_scale', [1]),
          ]
        : []),
    ].map((tensor) => ({ ...tensor, name: `blk.${index}.${tensor.name}.weight` }));
  return [
    matrix('fc.weight', [of.features.length * width, width]),
    matrix('enc.output_norm.weight', [width]),
    ...Array.from({ length: layers }, (_, index) => layer(index)).flat(),
    matrix('output_norm.weight', [width]),
    ...(extras ? [matrix('rope_freqs.weight', [headSize / 2])] : []),
    ...(ids
      ? [
          matrix('token_embd.weight', [width, TINY.vocabulary]),
          matrix('output.weight', [width, ids.length]),
          { name: 'd2t', format: format('I64'), shape: [ids.length] },
        ]
      : []),
    ...(of.foreign === undefined ? [] : [matrix(of.foreign, [width, width])]),
  ];
}

/** A small synthetic model, or a drafter (`dflash`) for all of these, as `rocmforge synth tiny` writes it. */
export async function syntheticTiny(architecture: string): Promise<GgufFile> {
  const shape = syntheticShape('tiny', { architecture, layers: 4, context: 128 });
  const sink = new MemorySink();
  const plan = await syntheticPlan(architecture, shape, { format: format('F32') });
  await writeRandomWeights(await GgufWriter.begin(sink, plan), { seed: 9 });
  return GgufFile.open(new MemorySource(sink.bytes(), `${architecture}.gguf`));
}

/** The bytes of the drafter's file. */
export async function dflashBytes(of: DflashOptions, seed = 4): Promise<Uint8Array<ArrayBuffer>> {
  const sink = new MemorySink();
  const writer = await GgufWriter.begin(sink, { metadata: metadataOf(of), tensors: tensorsOf(of) });
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
  return sink.bytes();
}

/** The drafter, opened. */
export async function dflashModel(of: DflashOptions): Promise<GgufFile> {
  return GgufFile.open(new MemorySource(await dflashBytes(of), 'drafter.gguf'));
}
