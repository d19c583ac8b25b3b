import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { type FamilyFixture, LARGEST_DIFFERENCE } from './family-fixtures.ts';

/** The devices on which every architecture's random model is compared with its golden, and the tests that do so. */
export const FAMILY_DEVICES = [
  { device: 'reference', test: 'tests/goldens/families.test.ts' },
  { device: 'cpu', test: 'tests/goldens/families.test.ts' },
  { device: 'hip-cuda', test: 'tests/hip-cuda/families.test.ts' },
  { device: 'webgpu', test: 'tests/webgpu/families.test.ts' },
] as const;

/** Well-known published models of each architecture, by the name of its fixture. */
const PUBLISHED: Readonly<Record<string, string>> = {
  afmoe: 'Trinity',
  apertus: 'Apertus',
  arcee: 'AFM 4.5B',
  arwkv7: 'ARWKV-7',
  bailingmoe: 'Ling 1, Ring 1',
  bailingmoe2: 'Ling 2, Ring 2',
  bert: 'BGE, E5, MiniLM',
  bloom: 'BLOOM, BLOOMZ',
  chatglm: 'ChatGLM 3, GLM-4 9B',
  codeshell: 'CodeShell',
  cohere2: 'Command R7B, Command A, Aya',
  cohere2moe: 'Command A with experts',
  'command-r': 'Command R',
  deepseek: 'DeepSeek-MoE 16B',
  deepseek2: 'DeepSeek V2 to V3.1, R1, Kimi K2, GLM 4.7 Flash',
  dots1: 'dots.llm1',
  ernie4_5: 'ERNIE 4.5 0.3B',
  'ernie4_5-moe': 'ERNIE 4.5 21B-A3B, 300B-A47B',
  exaone: 'EXAONE 3, 3.5',
  exaone4: 'EXAONE 4',
  'exaone-moe': 'K-EXAONE',
  falcon: 'Falcon 7B',
  'falcon-h1': 'Falcon-H1 0.5B to 34B',
  gemma: 'Gemma 1',
  gemma2: 'Gemma 2',
  gemma3: 'Gemma 3',
  gemma4: 'Gemma 4 12B, 26B-A4B, 31B (texts)',
  glm4: 'GLM-4-0414, GLM-4.1V',
  glm4moe: 'GLM-4.5, 4.6, Air',
  gpt2: 'GPT-2',
  'gpt-oss': 'gpt-oss 20B, 120B',
  gptneox: 'GPT-NeoX, Pythia, Dolly',
  granite: 'Granite 3, 4 (dense)',
  granitehybrid: 'Granite 4 H',
  granitemoe: 'Granite 3 with experts',
  'hunyuan-dense': 'Hunyuan 0.5B to 7B',
  'hunyuan-moe': 'Hunyuan-A13B',
  hy_v3: 'Hy 3',
  internlm2: 'InternLM 2, 3',
  jamba: 'Jamba',
  jais: 'Jais 13B, 30B',
  'jina-bert-v3': 'jina-embeddings-v3',
  lfm2: 'LFM 2, 2.5',
  lfm2moe: 'LFM 2 8B-A1B, 24B-A2B',
  llama: 'Llama 1 to 3, Mistral 7B, Small 3, SmolLM 2',
  llama4: 'Llama 4 Scout, Maverick',
  maincoder: 'Maincoder',
  mamba: 'Mamba, FalconMamba',
  mamba2: 'Mamba 2, Codestral Mamba',
  mellum: 'Mellum 2',
  mimo2: 'MiMo V2 Flash, V2.5',
  minicpm: 'MiniCPM 1, 4',
  minicpm3: 'MiniCPM 3',
  'minimax-m2': 'MiniMax M2',
  mistral3: 'Ministral 3, Devstral 2',
  mistral4: 'Mistral Small 4',
  mixtral: 'Mixtral',
  mpt: 'MPT 7B, 30B',
  nemotron: 'Nemotron 3 8B, Minitron',
  nemotron_h: 'Nemotron-H, Nemotron Nano 2',
  nemotron_h_moe: 'Nemotron 3 Nano, Super',
  'nomic-bert': 'nomic-embed-text 1, 1.5',
  'nomic-bert-moe': 'nomic-embed-text 2',
  olmo2: 'OLMo 2, 3',
  olmoe: 'OLMoE',
  orion: 'Orion',
  'pangu-embedded': 'openPangu Embedded',
  phi2: 'Phi 1, 1.5, 2',
  phi3: 'Phi 3, 3.5, 4',
  plamo: 'PLaMo 13B',
  qwen: 'Qwen 1',
  qwen2: 'Qwen 1.5, 2, 2.5, QwQ',
  qwen2moe: 'Qwen 1.5 MoE, Qwen 2 57B-A14B',
  qwen2vl: 'Qwen 2 VL, 2.5 VL (texts)',
  qwen3: 'Qwen 3',
  'qwen3-embedding': 'Qwen3-Embedding',
  'qwen3-reranker': 'Qwen3-Reranker',
  'bert-reranker': 'bge-reranker, ms-marco-MiniLM',
  qwen3moe: 'Qwen 3 30B-A3B, 235B-A22B, Coder',
  qwen3vl: 'Qwen 3 VL (texts)',
  qwen3vlmoe: 'Qwen 3 VL 30B-A3B, 235B-A22B (texts)',
  qwen35: 'Qwen 3.5',
  qwen35moe: 'Qwen 3.5 with experts',
  qwen3next: 'Qwen 3 Next 80B-A3B',
  refact: 'Refact 1.6B',
  rwkv7: 'RWKV-7',
  seed_oss: 'Seed-OSS 36B',
  smollm3: 'SmolLM 3',
  stablelm: 'StableLM 3B, StableLM 2 1.6B',
  starcoder: 'StarCoder, SantaCoder',
  starcoder2: 'StarCoder 2',
  step35: 'Step 3.5 Flash, 3.7 Flash (texts)',
  xverse: 'XVERSE',
};

/** The text of docs/models.md for the tests' fixtures. */
export function modelsPage(families: readonly FamilyFixture[]): string {
  const limits = families.map((family) => {
    const cells = FAMILY_DEVICES.map(() => `< ${family.difference ?? LARGEST_DIFFERENCE}`);
    return `| ${labelOf(family, families)} | ${PUBLISHED[family.name] ?? ''} | ${cells.join(' | ')} |`;
  });
  return [
    '# Models',
    '',
    'A GGUF file runs if its `general.architecture` is in this table. For each architecture, llama.cpp and every device decode a small',
    'random model (f32 weights, `rocmforge synth tiny --arch …`): two texts, each continued greedily. The number is the maximum',
    'difference of any logit from llama.cpp’s at any position; the greedy ids are identical. For encoders, the embeddings of both',
    'texts are compared, and for rerankers their scores.',
    '',
    `| architecture | models, such as | ${FAMILY_DEVICES.map(({ device }) => `\`${device}\``).join(' | ')} |`,
    `|---|---|${FAMILY_DEVICES.map(() => '---|').join('')}`,
    ...limits,
    '',
    'In these tests, `hip-cuda` is a CPU emulation of an AMD GPU, and `webgpu` a Vulkan driver that runs on the CPU (SwiftShader); without',
    'the tools for one of them, its tests are skipped. `npm test` runs all of them except the architectures without operators of',
    'their own on `webgpu`, which `npm run test:full` adds. Tests:',
    '',
    ...FAMILY_DEVICES.map(({ device, test }) => `- \`${device}\`: \`${test}\``),
    '',
    'They also test LoRA adapters against a golden, taps, streamed experts, and that the logits of RWKV-7 do not depend on how a prompt is',
    'split. `tests/device/cuda.test.ts` and `tests/device/hip*.test.ts` run all of this on a real GPU.',
    '',
    'Variants within an architecture (heads, biases, tied embeddings, RoPE scaling, windows by layer, OLMo 3 under OLMo 2’s name, the text',
    'half of GLM-4.1V, decoders that embed) are compared with llama.cpp on the CPU: `tests/goldens/variants.test.ts`.',
    '',
    'A file is used completely or refused: unused tensors, and settings that would change the results, are an error (`MODEL_UNREAD`), or',
    'a warning if llama.cpp ignores them, too, or texts do not need them. `rocmforge inspect` lists them; `--allow-unread` (in the',
    'library `allowUnread: true`) ignores them.',
    '',
    'This page is generated by `npm run docs` from the list in `tests/support/family-fixtures.ts`.',
    '',
  ].join('\n');
}

/** A family's names in files; some families that share an architecture have goldens of their own. */
function labelOf(
  { name, architecture, family, encodes }: FamilyFixture,
  families: readonly FamilyFixture[],
): string {
  if (family) return `\`${architecture}\` (${name.replace(/.*-/, '')})`;
  if (encodes) return `\`${name}\` (embeddings)`;
  if (architecture) return `\`${architecture}\`${architecture === name ? '' : ` (${name})`}`;
  const known = ALL_ARCHITECTURES.find(({ names }) => names.includes(name))?.names ?? [name];
  const own = known.filter((one) => one === name || !families.some((other) => other.name === one));
  return own.map((one) => `\`${one}\``).join(', ');
}
