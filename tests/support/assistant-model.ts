import { asBytes } from '../../src/base/bytes.ts';
import { seededRandom } from '../../src/base/seeded-random.ts';
import { GgufFile, type GgufPlan, type GgufValue, GgufWriter } from '../../src/gguf/index.ts';
import { MemorySink, MemorySource } from '../../src/io/index.ts';
import { SHORT_WINDOW } from '../../src/model/synthetic-family.ts';
import { tokenizerMetadata } from '../../src/model/synthetic/tokenizer-metadata.ts';
import { format } from './gguf-files.ts';

/** A random assistant of the small Gemma 4 whose shape is `TARGET`. */
export interface AssistantOptions {
  /** Replaces settings. */
  readonly metadata?: Readonly<Record<string, GgufValue>>;
  /** A tensor that is in the file as well. */
  readonly foreign?: string;
}

/** The shape of its model. */
export const TARGET = { architecture: 'gemma4', layers: 3, context: 128 } as const;

/** Sizes of the model, and of the assistant, whose first layer has the window. */
const MODEL = { width: 32, vocabulary: 64, size: 32, windowSize: 16 };
const OWN = { width: 24, heads: 4, hidden: 40, layers: 2 };

function planOf({ metadata = {}, foreign }: AssistantOptions): GgufPlan {
  const { width, heads, hidden, layers } = OWN;
  const u32 = (value: number): GgufValue => ({ type: 'u32', value });
  const f32 = (value: number): GgufValue => ({ type: 'f32', value });
  const own: Record<string, GgufValue> = {
    context_length: u32(TARGET.context),
    embedding_length: u32(width),
    embedding_length_out: u32(MODEL.width),
    block_count: u32(layers),
    nextn_predict_layers: u32(layers),
    feed_forward_length: u32(hidden),
    'attention.head_count': u32(heads),
    'attention.head_count_kv': { type: 'array', element: 'u32', values: [2, 1] },
    'attention.key_length': u32(MODEL.size),
    'attention.value_length': u32(MODEL.size),
    'attention.key_length_swa': u32(MODEL.windowSize),
    'attention.value_length_swa': u32(MODEL.windowSize),
    'attention.sliding_window': u32(SHORT_WINDOW),
    'attention.sliding_window_pattern': { type: 'array', element: 'bool', values: [true, false] },
    'attention.layer_norm_rms_epsilon': f32(1e-5),
    'rope.freq_base': f32(10_000),
    'rope.freq_base_swa': f32(1000),
    'rope.dimension_count': u32(MODEL.size),
    'rope.dimension_count_swa': u32(MODEL.windowSize),
    ...metadata,
  };
  const tensor = (name: string, shape: number[]) => ({ name, format: format('F32'), shape });
  const layer = (index: number) => {
    const size = index === 0 ? MODEL.windowSize : MODEL.size;
    const shapes: Record<string, number[]> = {
      attn_norm: [width],
      attn_q: [width, heads * size],
      attn_q_norm: [size],
      attn_output: [heads * size, width],
      post_attention_norm: [width],
      ffn_norm: [width],
      ffn_gate: [width, hidden],
      ffn_up: [width, hidden],
      ffn_down: [hidden, width],
      post_ffw_norm: [width],
      layer_output_scale: [1],
    };
    return Object.entries(shapes).map(([name, shape]) => tensor(`blk.${index}.${name}.weight`, shape));
  };
  return {
    metadata: [
      ['general.architecture', { type: 'string', value: 'gemma4-assistant' }],
      ...Object.entries(own).map(([key, value]) => [`gemma4-assistant.${key}`, value] as const),
      ...tokenizerMetadata(MODEL.vocabulary),
    ],
    tensors: [
      tensor('token_embd.weight', [width, MODEL.vocabulary]),
      tensor('output_norm.weight', [width]),
      tensor('nextn.post_projection.weight', [width, MODEL.width]),
      tensor('nextn.pre_projection.weight', [2 * MODEL.width, width]),
      tensor('rope_freqs.weight', [MODEL.size / 2]),
      ...layer(0),
      ...layer(1),
      ...(foreign === undefined ? [] : [tensor(foreign, [width])]),
    ],
  };
}

/** The assistant's file, the same bytes each time. */
export async function assistantBytes(of: AssistantOptions = {}): Promise<Uint8Array> {
  const sink = new MemorySink();
  const writer = await GgufWriter.begin(sink, planOf(of));
  const random = seededRandom(11);
  for (let tensor = writer.next; tensor; tensor = writer.next) {
    const [columns = 1, rows] = tensor.shape;
    const drawn = () => (rows === undefined ? 0.5 + random() : (4 * (random() - 0.5)) / Math.sqrt(columns));
    await writer.write(asBytes(Float32Array.from({ length: tensor.byteLength / 4 }, drawn)));
  }
  writer.end();
  return sink.bytes();
}

/** The same, opened. */
export async function assistantModel(of: AssistantOptions = {}): Promise<GgufFile> {
  return GgufFile.open(new MemorySource(await assistantBytes(of), 'assistant.gguf'));
}
