import type { Device } from '../../src/device/index.ts';
import { LanguageModel, type ModelSetup } from '../../src/engine/language-model.ts';
import type { GgufFile } from '../../src/gguf/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { count, counts, flags, type SyntheticShape } from '../../src/model/synthetic-family.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { assistantModel, TARGET } from './assistant-model.ts';
import type { FamilyVariant } from './family-variant.ts';
import { fixture } from './fixture.ts';
import { predictingModel } from './predicting-model.ts';

/** What llama.cpp's predictor guesses behind each beginning of a text from `from` ids on. */
export interface PredictorGolden {
  readonly name: string;
  /** The prompt and what the model says behind it. */
  readonly ids: readonly number[];
  readonly prompt: number;
  readonly from: number;
  readonly drafts: readonly (readonly number[])[];
}

/** The goldens, one a line. */
export const PREDICTOR_GOLDEN: string = fixture('goldens/predictor-drafts.jsonl');

/** Drafts behind each beginning. */
export const GUESSES = 3;

/** Ids that texts and drafts may have, so that a draft is right now and then. */
export const ALLOWED: readonly number[] = [20, 21, 22, 23];

const VOCABULARY = 64;

const FEW = new Map(
  Array.from({ length: VOCABULARY }, (_, id) => id)
    .filter((id) => !ALLOWED.includes(id))
    .map((id) => [id, Number.NEGATIVE_INFINITY]),
);

/** A model with a predictor. */
export interface PredictorCase {
  readonly architecture: string;
  readonly sizes?: Partial<SyntheticShape>;
  readonly variant?: Omit<FamilyVariant, 'name' | 'architecture'>;
  readonly blocks?: number;
  /** Whether what predicts is an assistant in a file of its own. */
  readonly assisted?: true;
}

/** An indexer's tensors in a layer, in the shape `tiny`. */
function idleIndexer(layer: number): Readonly<Record<string, readonly number[]>> {
  const sizes = {
    'attn_k.weight': [32, 64],
    'k_norm.weight': [64],
    'k_norm.bias': [64],
    'attn_q_b.weight': [24, 512],
  };
  const all = Object.entries({ ...sizes, 'proj.weight': [32, 8] });
  return Object.fromEntries(all.map(([name, size]) => [`blk.${layer}.indexer.${name}`, size]));
}

/** One of each kind: what blocks read and hand on, attention of each kind, and recurrent models. */
export const PREDICTOR_CASES: Readonly<Record<string, PredictorCase>> = {
  glm4moe: { architecture: 'glm4moe' },
  deepseek2: { architecture: 'deepseek2' },
  qwen35: { architecture: 'qwen35' },
  qwen35moe: { architecture: 'qwen35moe' },
  qwen3next: { architecture: 'qwen3next' },
  // llama.cpp's block has a fused matrix and no experts.
  mimo2: {
    architecture: 'mimo2',
    variant: { having: ['attn_qkv.weight'], without: ['blk.2.ffn_gate_inp.weight'] },
  },
  hy_v3: { architecture: 'hy_v3' },
  step35: { architecture: 'step35' },
  // Of several blocks the first guesses, as in llama.cpp's graph until it is told to take another one.
  'hy_v3, two blocks': { architecture: 'hy_v3', sizes: { layers: 4 }, blocks: 2 },
  'step35, two blocks': { architecture: 'step35', sizes: { layers: 6 }, blocks: 2 },
  // Its heads are not as wide as its indexer's, as in published files: llama.cpp divides by zero otherwise.
  deepseek4: {
    architecture: 'deepseek4',
    sizes: { layers: 4, experts: 8 },
    variant: { metadata: { 'attention.indexer.key_length': count(128) } },
  },
  // llama.cpp's block has an indexer that it does not use.
  deepseek32: { architecture: 'deepseek32', variant: { idle: idleIndexer(2) } },
  'glm-dsa': {
    architecture: 'glm-dsa',
    variant: { metadata: { 'attention.indexer.types': flags(2, () => true) }, idle: idleIndexer(2) },
  },
  // With a layer of latent attention before the block, which llama.cpp requires.
  bailingmoe3: {
    architecture: 'bailingmoe3',
    sizes: { layers: 4 },
    variant: {
      metadata: { 'attention.head_count_kv': counts(4, (layer) => (layer < 2 ? 0 : 1)) },
      having: ['blk.3.layer_output_norm.weight'],
    },
  },
  // llama.cpp's block attends to all positions, and is rotated.
  cohere2moe: { architecture: 'cohere2moe', sizes: { layers: 5 } },
  nemotron_h_moe: {
    architecture: 'nemotron_h_moe',
    sizes: { layers: 4, experts: 4 },
    variant: {
      metadata: {
        'attention.head_count_kv': counts(4, (layer) => 2 * (layer % 2)),
        feed_forward_length: counts(4, (layer) => (layer === 2 ? 48 : 0)),
      },
      having: ['blk.3.nextn.shared_head_norm.weight'],
    },
  },
  'gemma4-assistant': { ...TARGET, sizes: TARGET, assisted: true },
};

/** The case's model. */
export function modelOf({
  architecture,
  sizes = {},
  variant,
  blocks = 1,
  assisted,
}: PredictorCase): Promise<GgufFile> {
  const alone = { variant: { metadata: { nextn_predict_layers: undefined } } };
  return predictingModel(architecture, {
    sizes,
    blocks,
    ...(variant && { variant }),
    ...(assisted && alone),
  });
}

/** Two prompts, one of which is longer than windows and than what indexers choose. */
export const PROMPTS: readonly (readonly number[])[] = [6, 30].map((length) =>
  Array.from({ length }, (_, at) => 3 + ((at * 37 + length) % 56)),
);

/** How the texts are asked for. */
interface PredictedRequest {
  readonly drafts: boolean;
  readonly maxTokens: number;
  /** Default: a CPU device of its own. */
  readonly open?: () => Promise<Device>;
}

/** The greedy texts behind the prompts, of few ids. */
export async function predictedTexts(
  of: PredictorCase,
  { drafts, maxTokens, open = () => openCpu({ threads: 1 }) }: PredictedRequest,
): Promise<number[][]> {
  const setup: ModelSetup = {
    ...{ gguf: await modelOf(of), device: await open(), architectures: ALL_ARCHITECTURES },
    ...(drafts && of.assisted && { draft: { gguf: await assistantModel() } }),
  };
  const drafting = { speculation: GUESSES, runtime: { adaptsDrafts: false } };
  await using model = await LanguageModel.open(setup, {
    ...{ cacheType: 'f32', context: 128, deterministic: true },
    ...(drafts && drafting),
    ...(drafts && !of.assisted && { predictor: true }),
  });
  const texts = [];
  for (const prompt of PROMPTS) {
    model.reset();
    const stream = model.generate(prompt, { temperature: 0, ignoreEnd: true, logitBias: FEW, maxTokens });
    const ids: number[] = [];
    for await (const { token } of stream) if (token) ids.push(token.id);
    texts.push(ids);
  }
  return texts;
}
