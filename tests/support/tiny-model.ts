import { GgufFile, type GgufPlan, GgufWriter } from '../../src/gguf/index.ts';
import { MemorySink, MemorySource } from '../../src/io/index.ts';
import { format } from './gguf-files.ts';
import { seededRandom } from './random.ts';

/** The sizes of a random Llama that runs in milliseconds; its tokenizer knows bytes and two words. */
export const TINY = { width: 64, layers: 3, heads: 4, kvHeads: 2, hidden: 96, context: 128, vocabulary: 261 };

const PIECES = ['<unk>', '<s>', '</s>', ...bytePieces(), '\u2581hi', '\u2581'];

function bytePieces(): string[] {
  return Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
}

function tokenType(id: number): number {
  if (id === 0) return 2;
  if (id < 3) return 3;
  return id < 259 ? 6 : 1;
}

/** The plan of a tiny Llama, with `matrix` as its matrices' format and changed metadata. */
export function tinyPlan(matrix: string, changed: GgufPlan['metadata'] = []): GgufPlan {
  const { width, layers, heads, kvHeads, hidden, context, vocabulary } = TINY;
  const kvWidth = (width / heads) * kvHeads;
  const tensors = new Map<string, { format: string; shape: number[] }>();
  const add = (name: string, shape: number[]) => {
    tensors.set(name, { format: shape.length === 1 ? 'F32' : matrix, shape });
  };
  add('token_embd.weight', [width, vocabulary]);
  for (let i = 0; i < layers; i++) {
    add(`blk.${i}.attn_norm.weight`, [width]);
    add(`blk.${i}.attn_q.weight`, [width, width]);
    add(`blk.${i}.attn_k.weight`, [width, kvWidth]);
    add(`blk.${i}.attn_v.weight`, [width, kvWidth]);
    add(`blk.${i}.attn_output.weight`, [width, width]);
    add(`blk.${i}.ffn_norm.weight`, [width]);
    add(`blk.${i}.ffn_gate.weight`, [width, hidden]);
    add(`blk.${i}.ffn_up.weight`, [width, hidden]);
    add(`blk.${i}.ffn_down.weight`, [hidden, width]);
  }
  add('output_norm.weight', [width]);
  const u32 = (value: number) => ({ type: 'u32', value }) as const;
  const metadata: GgufPlan['metadata'] = [
    ['general.architecture', { type: 'string', value: 'llama' }],
    ['llama.embedding_length', u32(width)],
    ['llama.block_count', u32(layers)],
    ['llama.attention.head_count', u32(heads)],
    ['llama.attention.head_count_kv', u32(kvHeads)],
    ['llama.feed_forward_length', u32(hidden)],
    ['llama.context_length', u32(context)],
    ['llama.attention.layer_norm_rms_epsilon', { type: 'f32', value: 1e-5 }],
    ['tokenizer.ggml.model', { type: 'string', value: 'llama' }],
    ['tokenizer.ggml.tokens', { type: 'array', element: 'string', values: PIECES }],
    ['tokenizer.ggml.scores', { type: 'array', element: 'f32', values: PIECES.map((_, id) => -id) }],
    [
      'tokenizer.ggml.token_type',
      { type: 'array', element: 'i32', values: PIECES.map((_, id) => tokenType(id)) },
    ],
    ['tokenizer.ggml.bos_token_id', u32(1)],
    ['tokenizer.ggml.eos_token_id', u32(2)],
    [
      'tokenizer.chat_template',
      { type: 'string', value: '{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}' },
    ],
  ];
  const replaced = new Map([...metadata, ...changed]);
  return {
    metadata: [...replaced],
    tensors: [...tensors].map(([name, { format: stored, shape }]) => ({
      name,
      format: format(stored),
      shape,
    })),
  };
}

/** How a tiny model differs from the default one. */
interface TinyOptions {
  /** The seed of the weights. */
  readonly seed?: number;
  /** The head has its own matrix. */
  readonly hasHead?: boolean;
  /** F32 tensors in addition to the architecture's, by shape. */
  readonly extra?: Readonly<Record<string, readonly number[]>>;
}

/** The bytes of a tiny Llama with seeded random weights. */
export async function tinyBytes(
  matrix = 'F32',
  changed: GgufPlan['metadata'] = [],
  { seed = 11, hasHead = false, extra = {} }: TinyOptions = {},
): Promise<Uint8Array<ArrayBuffer>> {
  const sink = new MemorySink();
  const random = seededRandom(seed);
  const plan = tinyPlan(matrix, changed);
  const head = { name: 'output.weight', format: format(matrix), shape: [TINY.width, TINY.vocabulary] };
  const more = Object.entries(extra).map(([name, shape]) => ({
    name,
    format: format('F32'),
    shape: [...shape],
  }));
  const tensors = [...plan.tensors, ...(hasHead ? [head] : []), ...more];
  const writer = await GgufWriter.begin(sink, { ...plan, tensors });
  for (const tensor of writer.layout.tensors) {
    const bytes = new Uint8Array(tensor.byteLength);
    if (tensor.shape.length === 1) new Float32Array(bytes.buffer).fill(1);
    else tensor.format.fillRandom(bytes, random, 1.5 / Math.sqrt(tensor.shape[0] as number));
    await writer.write(bytes);
  }
  writer.end();
  return sink.bytes();
}

/** A tiny Llama, opened. */
export async function tinyModel(
  matrix = 'F32',
  changed: GgufPlan['metadata'] = [],
  options: TinyOptions = {},
): Promise<GgufFile> {
  return GgufFile.open(new MemorySource(await tinyBytes(matrix, changed, options), 'tiny.gguf'));
}

/** A file's bytes with NaN as one element of an f32 tensor. */
export async function withNaN(
  bytes: Uint8Array<ArrayBuffer>,
  name: string,
  element: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const broken = bytes.slice();
  await using gguf = await GgufFile.open(new MemorySource(bytes, 'model.gguf'));
  const tensor = gguf.tensors.find((candidate) => candidate.name === name);
  if (!tensor) throw new Error(`there is no ${name}`);
  new DataView(broken.buffer).setFloat32(tensor.offset + 4 * element, Number.NaN, true);
  return broken;
}
