import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import type { SyntheticFamily, SyntheticShape } from '../../src/model/synthetic-family.ts';
import { count } from '../../src/model/synthetic-family.ts';
import { familyOfVariant, texts } from './family-variant.ts';
import { fixture } from './fixture.ts';

/** A small random model of an architecture, with llama.cpp's results for it. */
export interface FamilyFixture {
  /** The architecture's name, or another name of the files. */
  readonly name: string;
  /** The architecture, if different from the name. */
  readonly architecture?: string;
  /** Its differences from the shape `tiny`. */
  readonly sizes: Partial<SyntheticShape>;
  /** Replaces the architecture's own `synthetic`. */
  readonly family?: SyntheticFamily;
  /** Whether it embeds texts; the golden then contains vectors. */
  readonly encodes?: true;
  /** The number of scores of a model with a classifier; the golden then contains them. */
  readonly scores?: number;
  /** Whether llama.cpp computes the golden with flash attention, without which it attends to all positions. */
  readonly flashAttention?: true;
  /** The tolerance of a logit, if above `LARGEST_DIFFERENCE`. */
  readonly difference?: number;
}

/** llama.cpp and we compute in f32, in different orders. */
export const LARGEST_DIFFERENCE = 2e-3;

/** How the small model of an architecture differs from the shape `tiny`, and its golden from others. */
const DIFFERENT: Readonly<Record<string, Partial<FamilyFixture>>> = {
  qwen3moe: { sizes: { experts: 16, chosenExperts: 4 } },
  glm4moe: { sizes: { layers: 3 } },
  gemma2: { sizes: { layers: 3 } },
  // The sixth layer has no window. llama.cpp uses a table of halves for GELU, in six layers; with such a table the
  // reference device comes within 2e-4.
  gemma3: { sizes: { layers: 6 }, difference: 3e-3 },
  gemma4: { sizes: { layers: 3, experts: 6 }, difference: 3e-3 },
  gpt2: { sizes: { kvHeads: 4 } },
  bloom: { sizes: { kvHeads: 4 } },
  // Its two sizes are told apart by their layers.
  baichuan: { sizes: { layers: 32, width: 16, heads: 2, kvHeads: 2, hidden: 32 } },
  deci: { sizes: { layers: 3 } },
  // A layer with a window alone, and both kinds of cells.
  deepseek4: { sizes: { layers: 3, experts: 8 } },
  'jina-bert-v2': { encodes: true, sizes: { kvHeads: 4 } },
  eurobert: { encodes: true, sizes: {} },
  'llama-embed': { encodes: true, sizes: {} },
  'neo-bert': { encodes: true, sizes: { kvHeads: 4 } },
  laguna: { sizes: { layers: 5 } },
  maple: { sizes: { layers: 4 } },
  'muse-glimmer': { sizes: { layers: 4 } },
  phimoe: { sizes: { experts: 4 } },
  smallthinker: { sizes: { layers: 5 } },
  jais: { sizes: { kvHeads: 4 } },
  // Heads that are no power of two.
  mpt: { sizes: { width: 48, heads: 6, kvHeads: 6 } },
  refact: { sizes: { kvHeads: 1 } },
  // llama.cpp's kernel assumes heads of 64 values, whatever the file says.
  arwkv7: { sizes: { width: 64, heads: 1, kvHeads: 1 } },
  rwkv7: { sizes: { width: 64, heads: 1, kvHeads: 1 } },
  bert: { encodes: true, sizes: { kvHeads: 4 } },
  'nomic-bert': { encodes: true, sizes: { kvHeads: 4 } },
  'nomic-bert-moe': { encodes: true, sizes: { kvHeads: 4 } },
  'jina-bert-v3': { encodes: true, sizes: { kvHeads: 4 } },
  'modern-bert': { encodes: true, sizes: { kvHeads: 4, layers: 4 } },
  'gemma-embedding': { encodes: true, sizes: {} },
  smollm3: { sizes: { layers: 4 } },
  step35: { sizes: { layers: 3 } },
  olmoe: { sizes: { kvHeads: 4 } },
  cohere2: { sizes: { layers: 4 } },
  mellum: { sizes: { layers: 4 } },
  afmoe: { sizes: { layers: 4 } },
  llama4: { sizes: { layers: 4 } },
  mimo2: { sizes: { layers: 3 } },
  'exaone-moe': { sizes: { layers: 4 } },
  cohere2moe: { sizes: { layers: 5 } },
  qwen: { sizes: { kvHeads: 4 } },
  dots1: { sizes: { kvHeads: 4 } },
  bailingmoe2: { sizes: { experts: 8 } },
  jamba: { sizes: { experts: 4 } },
  granitehybrid: { sizes: { experts: 4 } },
  nemotron_h: { sizes: { layers: 3 } },
  minicpm3: { sizes: { kvHeads: 4 } },
  plm: { sizes: { kvHeads: 4 } },
  // Two layers keep the residual stream.
  'kimi-k3': { sizes: { layers: 4 } },
  'kimi-linear': { sizes: { layers: 3 } },
  hy_v4: { sizes: { layers: 3 } },
  'glm-dsa': { sizes: { layers: 3 } },
  // In its dense layer llama.cpp rounds keys and values to halves where it uses flash attention; without that layer the
  // difference is 3e-6.
  'minimax-m3': { sizes: { layers: 3 }, flashAttention: true, difference: 5e-3 },
  bailingmoe3: { sizes: { layers: 3 } },
};

/** Every supported architecture: without a golden it is not supported. */
export const FAMILY_FIXTURES: readonly FamilyFixture[] = [
  ...ALL_ARCHITECTURES.map(({ names: [name = ''] }) => ({ name, sizes: {}, ...DIFFERENT[name] })),
  { name: 'paddleocr', architecture: 'paddleocr', sizes: {} },
  { name: 'mixtral', architecture: 'llama', sizes: { experts: 4 } },
  // llama.cpp's table of halves for GELU, twice a layer; with such a table the reference device comes within 3e-4.
  { name: 'gemma4-e', architecture: 'gemma4', sizes: { layers: 4 }, difference: 5e-3 },
  { name: 'nemotron_h_moe', architecture: 'nemotron_h_moe', sizes: { layers: 3, experts: 4 } },
  ...['granitemoe', 'ernie4_5-moe', 'lfm2moe'].map((name) => ({
    name,
    architecture: name,
    sizes: { experts: 4 },
  })),
  {
    name: 'bert-reranker',
    architecture: 'bert',
    sizes: { kvHeads: 4 },
    scores: 1,
    family: familyOfVariant({
      architecture: 'bert',
      metadata: { pooling_type: count(4) },
      having: ['cls.weight', 'cls.bias', 'cls.output.weight', 'cls.output.bias'],
    }),
  },
  {
    name: 'qwen3-embedding',
    architecture: 'qwen3',
    sizes: {},
    encodes: true,
    family: familyOfVariant({ architecture: 'qwen3', metadata: { pooling_type: count(3) } }),
  },
  {
    name: 'qwen3-reranker',
    architecture: 'qwen3',
    sizes: {},
    scores: 2,
    family: familyOfVariant({
      architecture: 'qwen3',
      metadata: { pooling_type: count(4), 'classifier.output_labels': texts('yes', 'no') },
    }),
  },
];

/** A text that is longer than those of the other goldens, with llama.cpp's results from a position on. */
export interface LongText {
  readonly model: string;
  readonly golden: string;
  readonly ids: readonly number[];
  readonly from: number;
}

/** A text that completes the first of DeepSeek V4's cells of 128 positions. */
export const CELLS: LongText = {
  model: fixture('families/deepseek4.gguf'),
  golden: fixture('families/deepseek4.cells.jsonl'),
  ids: Array.from({ length: 136 }, (_, i) => (7 + 3 * i + 2 * i * i + i ** 3) % 61),
  from: 124,
};

/** A text that goes from Llama 4's first chunk to its second, with llama.cpp's results around the border. */
export const CHUNKS: LongText = {
  model: fixture('families/llama4.gguf'),
  golden: fixture('families/llama4.chunks.jsonl'),
  ids: Array.from({ length: 8212 }, (_, i) => (7 + 13 * i + (i % 97) * (i % 89)) % 61),
  from: 8184,
};

const OTHERS_OPERATORS = [
  'qwen3-embedding',
  'qwen3-reranker',
  'llama',
  'qwen2',
  'qwen2moe',
  'qwen3',
  'chatglm',
  'glm4',
  'gemma2',
  'olmo2',
  'starcoder2',
  'bert',
  'granitemoe',
  'smollm3',
  'olmoe',
  'cohere2',
  'exaone4',
  'ernie4_5',
  'ernie4_5-moe',
  'hunyuan-moe',
  'seed_oss',
  'minimax-m2',
  'gemma',
  'arcee',
  'internlm2',
  'minicpm',
  'stablelm',
  'phi2',
  'gptneox',
  'falcon',
  'nemotron',
  'dots1',
  'deepseek',
  'bailingmoe2',
  'plamo',
  'qwen3vl',
  'qwen3vlmoe',
  'qwen2vl',
  'exaone',
  'exaone-moe',
  'cohere2moe',
  'hy_v3',
  'bailingmoe',
  'starcoder',
  'codeshell',
  'orion',
  'qwen',
  'xverse',
  'pangu-embedded',
  'jina-bert-v3',
  'mellum',
  'maincoder',
  'arwkv7',
  'mistral4',
  'plm',
  'mistral3',
  'llama4',
  'mimo2',
  'lfm2moe',
  'mamba2',
  'jamba',
  'granitehybrid',
  'nemotron_h',
  'falcon-h1',
  'mpt',
  'refact',
  'jais',
  'bailingmoe3',
  'glm-dsa',
  'arctic',
  'baichuan',
  'bitnet',
  'dbrx',
  'deci',
  'eurobert',
  'llama-embed',
  'granite_swa',
  'grok',
  'jais2',
  'openelm',
  'plamo3',
  'smallthinker',
  'spark2_5',
  'minimax-m3',
  'rwkv6qwen2',
  'neo-bert',
  'phimoe',
  'paddleocr',
  'maple',
  'muse-glimmer',
  'kimi-k3',
  'hy_v4',
  'olmo',
  'plamo2',
  'talkie',
];

/** True for families whose operators all occur in others, which represent them when compiling kernels takes long. */
export function hasOthersOperators({ name }: FamilyFixture): boolean {
  return OTHERS_OPERATORS.includes(name);
}

/** Each kernel of these also occurs in another family, or in the device contract. */
const OTHERS_KERNELS = [
  'afmoe',
  'command-r',
  'glm4moe',
  'granite',
  'hunyuan-dense',
  'jina-bert-v2',
  'laguna',
  'minicpm3',
  'nomic-bert',
  'nomic-bert-moe',
  'qwen35moe',
  'step35',
];

/** True for families that others represent on GPUs, whose kernels take long to compile or to emulate. */
export function hasOthersKernels(family: FamilyFixture): boolean {
  return OTHERS_OPERATORS.includes(family.name) || OTHERS_KERNELS.includes(family.name);
}

/** The paths of a fixture's model and golden. */
export function familyPaths({ name }: FamilyFixture): { model: string; golden: string } {
  return { model: fixture(`families/${name}.gguf`), golden: fixture(`families/${name}.forced.jsonl`) };
}
