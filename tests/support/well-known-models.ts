import { readFileSync } from 'node:fs';
import { F32 } from '../../src/formats/index.ts';
import { syntheticPlan } from '../../src/model/synthetic/synthetic-plan.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import { count } from '../../src/model/synthetic-family.ts';
import { dialectOf } from '../../src/text/dialects/index.ts';
import { FAMILY_FIXTURES } from './family-fixtures.ts';
import { familyOfVariant } from './family-variant.ts';
import { fixture } from './fixture.ts';

/** A model, its files, the architecture that they name, and its chat template among the fixtures, if it is there. */
type WellKnown = readonly [model: string, file: string, architecture: string, template?: string];

/** Models that people run, most of them with several sizes and quantizations. */
export const WELL_KNOWN: readonly WellKnown[] = [
  ['Qwen 3.5, 3.6, 3.8: 0.8B to 27B', 'Qwen3.6-27B-Q4_K_M.gguf', 'qwen35', 'Qwen3.5-4B'],
  ['Qwen 3.5, 3.6, 3.8: 35B-A3B, 122B, 397B', 'Qwen3.6-35B-A3B-Q4_K_M.gguf', 'qwen35moe', 'Qwen3.5-4B'],
  ['Qwen 3 Next 80B-A3B', 'Qwen3-Next-80B-A3B-Instruct-Q4_K_M.gguf', 'qwen3next'],
  ['Qwen 3 Coder Next 80B-A3B', 'Qwen3-Coder-Next-Q4_K_M.gguf', 'qwen3next', 'Qwen3-Coder'],
  ['Qwen 3 0.6B to 32B', 'Qwen3-8B-Q4_K_M.gguf', 'qwen3', 'Qwen-Qwen3-0.6B'],
  ['Qwen 3 30B-A3B, 235B-A22B', 'Qwen3-30B-A3B-Q4_K_M.gguf', 'qwen3moe', 'Qwen-Qwen3-0.6B'],
  ['Qwen 3 Coder', 'Qwen3-Coder-30B-A3B-Instruct-Q4_K_M.gguf', 'qwen3moe', 'Qwen3-Coder'],
  ['Qwen 3 VL (texts)', 'Qwen3-VL-8B-Instruct-Q4_K_M.gguf', 'qwen3vl'],
  ['Qwen 3 VL 30B-A3B, 235B-A22B (texts)', 'Qwen3-VL-30B-A3B-Instruct-Q4_K_M.gguf', 'qwen3vlmoe'],
  ['Qwen 2.5', 'Qwen2.5-7B-Instruct-Q4_K_M.gguf', 'qwen2', 'Qwen-Qwen2.5-7B-Instruct'],
  ['Qwen 2.5 Coder', 'qwen2.5-coder-7b-instruct-q4_k_m.gguf', 'qwen2'],
  ['QwQ 32B', 'QwQ-32B-Q4_K_M.gguf', 'qwen2', 'Qwen-QwQ-32B'],
  ['Qwen 2.5 VL (texts)', 'Qwen2.5-VL-7B-Instruct-Q4_K_M.gguf', 'qwen2vl'],
  ['Gemma 4', 'gemma-4-31B-it-Q4_K_M.gguf', 'gemma4', 'google-gemma-4-31B-it'],
  ['Gemma 4 E2B, E4B', 'gemma-4-E4B-it-Q4_K_M.gguf', 'gemma4', 'google-gemma-4-31B-it'],
  ['Gemma 3n E2B, E4B', 'gemma-3n-E4B-it-Q4_K_M.gguf', 'gemma3n'],
  ['Gemma 3', 'gemma-3-12b-it-Q4_K_M.gguf', 'gemma3'],
  ['Gemma 2', 'gemma-2-9b-it-Q4_K_M.gguf', 'gemma2', 'google-gemma-2-2b-it'],
  ['Gemma 1', 'gemma-1.1-7b-it.Q4_K_M.gguf', 'gemma'],
  ['EmbeddingGemma', 'embeddinggemma-300M-Q8_0.gguf', 'gemma-embedding'],
  ['gpt-oss 20B, 120B', 'gpt-oss-20b-MXFP4.gguf', 'gpt-oss', 'openai-gpt-oss-120b'],
  ['Llama 4 Scout, Maverick', 'Llama-4-Scout-17B-16E-Instruct-Q4_K_M.gguf', 'llama4'],
  ['Llama 3.3 70B', 'Llama-3.3-70B-Instruct-Q4_K_M.gguf', 'llama', 'meta-llama-Llama-3.3-70B-Instruct'],
  ['Llama 3.2 1B, 3B', 'Llama-3.2-3B-Instruct-Q4_K_M.gguf', 'llama', 'meta-llama-Llama-3.2-3B-Instruct'],
  [
    'Llama 3.1 8B, 70B, 405B',
    'Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf',
    'llama',
    'meta-llama-Llama-3.1-8B-Instruct',
  ],
  ['Hermes 3', 'Hermes-3-Llama-3.1-8B.Q4_K_M.gguf', 'llama', 'NousResearch-Hermes-3-Llama-3.1-8B-tool_use'],
  ['Llama-Nemotron Super 49B', 'nvidia_Llama-3_3-Nemotron-Super-49B-v1_5-Q4_K_M.gguf', 'deci'],
  ['TinyLlama 1.1B', 'tinyllama-1.1b-chat-v1.0.Q4_K_M.gguf', 'llama'],
  ['Llama 2, Code Llama', 'llama-2-7b-chat.Q4_K_M.gguf', 'llama'],
  ['Bielik 11B v3', 'Bielik-11B-v3.0-Instruct.Q4_K_M.gguf', 'llama', 'Bielik-11B-v3.0-Instruct'],
  ['Functionary', 'functionary-medium-v3.2.Q4_K_M.gguf', 'llama', 'meetkai-functionary-medium-v3.2'],
  ['Mixtral 8x7B', 'mixtral-8x7b-instruct-v0.1.Q4_K_M.gguf', 'llama'],
  ['Mistral 7B', 'Mistral-7B-Instruct-v0.3-Q4_K_M.gguf', 'llama'],
  ['Mistral Nemo', 'Mistral-Nemo-Instruct-2407-Q4_K_M.gguf', 'llama', 'mistralai-Mistral-Nemo-Instruct-2407'],
  [
    'Mistral Small 3.2',
    'Mistral-Small-3.2-24B-Instruct-2506-Q4_K_M.gguf',
    'llama',
    'Mistral-Small-3.2-24B-Instruct-2506',
  ],
  ['Devstral Small', 'Devstral-Small-2507-Q4_K_M.gguf', 'llama', 'unsloth-mistral-Devstral-Small-2507'],
  ['Devstral 2', 'Devstral-2-123B-Instruct-2512-Q4_K_M.gguf', 'mistral3'],
  ['Magistral Small', 'Magistral-Small-2509-Q4_K_M.gguf', 'llama'],
  [
    'Ministral 3',
    'Ministral-3-14B-Reasoning-2512-Q4_K_M.gguf',
    'mistral3',
    'mistralai-Ministral-3-14B-Reasoning-2512',
  ],
  ['Mistral Small 4', 'Mistral-Small-4-Q4_K_M.gguf', 'mistral4'],
  ['Codestral Mamba', 'Mamba-Codestral-7B-v0.1-Q8_0.gguf', 'mamba2'],
  ['DeepSeek R1', 'DeepSeek-R1-Q4_K_M.gguf', 'deepseek2', 'llama-cpp-deepseek-r1'],
  [
    'DeepSeek R1 Distill (Qwen)',
    'DeepSeek-R1-Distill-Qwen-32B-Q4_K_M.gguf',
    'qwen2',
    'deepseek-ai-DeepSeek-R1-Distill-Qwen-32B',
  ],
  [
    'DeepSeek R1 Distill (Llama)',
    'DeepSeek-R1-Distill-Llama-8B-Q4_K_M.gguf',
    'llama',
    'deepseek-ai-DeepSeek-R1-Distill-Llama-8B',
  ],
  ['DeepSeek V3.1', 'DeepSeek-V3.1-Q4_K_M.gguf', 'deepseek2', 'deepseek-ai-DeepSeek-V3.1'],
  ['DeepSeek V3', 'DeepSeek-V3-0324-Q4_K_M.gguf', 'deepseek2'],
  ['DeepSeek V2 Lite, Coder V2 Lite', 'DeepSeek-Coder-V2-Lite-Instruct-Q4_K_M.gguf', 'deepseek2'],
  ['DeepSeek-MoE 16B', 'deepseek-moe-16b-chat.Q4_K_M.gguf', 'deepseek'],
  ['Kimi K2', 'Kimi-K2-Instruct-Q4_K_M.gguf', 'deepseek2', 'Kimi-K2-Instruct'],
  ['Kimi K2 Thinking', 'Kimi-K2-Thinking-Q4_K_M.gguf', 'deepseek2', 'Kimi-K2-Thinking'],
  ['Kimi K2.5, K2.6 (texts)', 'Kimi-K2.5-Q4_K_M.gguf', 'deepseek2'],
  ['GigaChat 3', 'GigaChat3-10B-A1.8B-Q4_K_M.gguf', 'deepseek2', 'GigaChat3-10B-A1.8B'],
  ['Kimi K3', 'Kimi-K3-MXFP4.gguf', 'kimi-k3', 'Kimi-K3'],
  ['Kimi Linear 48B-A3B', 'Kimi-Linear-48B-A3B-Instruct-Q4_K_M.gguf', 'kimi-linear'],
  ['GLM 4.7 Flash', 'GLM-4.7-Flash-Q4_K_M.gguf', 'deepseek2', 'GLM-4.7-Flash'],
  ['GLM 4.5, 4.6, Air', 'GLM-4.6-Q4_K_M.gguf', 'glm4moe', 'GLM-4.6'],
  ['GLM-4-0414', 'GLM-4-9B-0414-Q4_K_M.gguf', 'glm4'],
  ['MiniMax M2, M2.1, M2.5', 'MiniMax-M2.5-Q4_K_M.gguf', 'minimax-m2', 'MiniMax-M2'],
  [
    'Nemotron 3 Nano',
    'Nemotron-3-Nano-30B-A3B-Q4_K_M.gguf',
    'nemotron_h_moe',
    'NVIDIA-Nemotron-3-Nano-30B-A3B-BF16',
  ],
  ['Nemotron Nano 2', 'NVIDIA-Nemotron-Nano-9B-v2-Q4_K_M.gguf', 'nemotron_h', 'NVIDIA-Nemotron-Nano-v2'],
  ['Nemotron 3 Super', 'Nemotron-3-Super-120B-A12B-Q4_K_M.gguf', 'nemotron_h_moe'],
  ['Minitron', 'Nemotron-Mini-4B-Instruct-Q4_K_M.gguf', 'nemotron'],
  ['LFM 2.5', 'LFM2.5-1.2B-Instruct-Q4_K_M.gguf', 'lfm2', 'LFM2.5-Instruct'],
  ['LFM 2 8B-A1B', 'LFM2-8B-A1B-Q4_K_M.gguf', 'lfm2moe', 'LFM2-8B-A1B'],
  ['Granite 4 H', 'granite-4.0-h-tiny-Q4_K_M.gguf', 'granitehybrid', 'ibm-granite-granite-4.0'],
  ['Granite 4 Micro', 'granite-4.0-micro-Q4_K_M.gguf', 'granite', 'ibm-granite-granite-4.0'],
  ['Granite 3.3', 'granite-3.3-8b-instruct-Q4_K_M.gguf', 'granite', 'ibm-granite-granite-3.3-2B-Instruct'],
  ['MiMo V2 Flash, V2.5', 'MiMo-V2-Flash-Q4_K_M.gguf', 'mimo2'],
  ['Hy 3', 'Hy3-Q4_K_M.gguf', 'hy_v3', 'tencent-Hy3'],
  ['Hy 4', 'Hy4-Q4_K_M.gguf', 'hy_v4'],
  ['Hunyuan A13B', 'Hunyuan-A13B-Instruct-Q4_K_M.gguf', 'hunyuan-moe'],
  ['Hunyuan 0.5B to 7B', 'Hunyuan-7B-Instruct-Q4_K_M.gguf', 'hunyuan-dense'],
  ['Phi 4, mini, reasoning', 'phi-4-Q4_K_M.gguf', 'phi3'],
  ['Phi 3.5 mini', 'Phi-3.5-mini-instruct-Q4_K_M.gguf', 'phi3', 'microsoft-Phi-3.5-mini-instruct'],
  ['Phi 3.5 MoE', 'Phi-3.5-MoE-instruct-Q4_K_M.gguf', 'phimoe'],
  ['Laguna XS, S', 'Laguna-XS-2.1-Q4_K_M.gguf', 'laguna', 'poolside-Laguna-XS-2.1'],
  ['Muse Glimmer', 'Muse-Glimmer-Q4_K_M.gguf', 'muse-glimmer', 'muse-glimmer'],
  ['PaddleOCR-VL (texts)', 'PaddleOCR-VL-Q8_0.gguf', 'paddleocr'],
  ['NeoBERT', 'NeoBERT-F16.gguf', 'neo-bert'],
  ['Phi 2', 'phi-2.Q4_K_M.gguf', 'phi2'],
  ['SmolLM 3', 'SmolLM3-3B-Q4_K_M.gguf', 'smollm3', 'HuggingFaceTB-SmolLM3-3B'],
  ['SmolLM 2', 'SmolLM2-1.7B-Instruct-Q4_K_M.gguf', 'llama'],
  ['SmolVLM 2 (texts)', 'SmolVLM2-2.2B-Instruct-Q4_K_M.gguf', 'llama'],
  ['Step 3.5 Flash, 3.7 Flash (texts)', 'Step-3.5-Flash-Q4_K_S.gguf', 'step35', 'StepFun3.5-Flash'],
  ['Ling 2, Ring 2', 'Ling-mini-2.0-Q4_K_M.gguf', 'bailingmoe2'],
  ['Ling 3', 'Ling-3.0-flash-Q4_K_M.gguf', 'bailingmoe3', 'inclusionai-ling-3.0-flash'],
  ['Command R', 'c4ai-command-r-08-2024-Q4_K_M.gguf', 'command-r'],
  ['Command A', 'c4ai-command-a-03-2025-Q4_K_M.gguf', 'cohere2'],
  [
    'Command R7B',
    'c4ai-command-r7b-12-2024-Q4_K_M.gguf',
    'cohere2',
    'CohereForAI-c4ai-command-r7b-12-2024-tool_use',
  ],
  ['EXAONE 4, 4.5 (texts)', 'EXAONE-4.0-32B-Q4_K_M.gguf', 'exaone4'],
  ['K-EXAONE', 'K-EXAONE-236B-A23B-Q4_K_M.gguf', 'exaone-moe'],
  ['ERNIE 4.5 0.3B', 'ERNIE-4.5-0.3B-PT-Q8_0.gguf', 'ernie4_5'],
  ['ERNIE 4.5 21B-A3B', 'ERNIE-4.5-21B-A3B-PT-Q4_K_M.gguf', 'ernie4_5-moe'],
  ['OLMo 2, 3', 'Olmo-3-7B-Instruct-Q4_K_M.gguf', 'olmo2'],
  ['OLMo 1', 'OLMo-7B-0724-Instruct-hf-Q4_K_M.gguf', 'olmo'],
  ['OLMoE', 'olmoe-1b-7b-0924-instruct-q4_k_m.gguf', 'olmoe'],
  ['Seed-OSS 36B', 'Seed-OSS-36B-Instruct-Q4_K_M.gguf', 'seed_oss', 'ByteDance-Seed-OSS'],
  ['Apertus', 'Apertus-8B-Instruct-2509-Q4_K_M.gguf', 'apertus', 'Apertus-8B-Instruct'],
  ['Trinity', 'Trinity-Mini-Q4_K_M.gguf', 'afmoe'],
  ['Falcon-H1', 'Falcon-H1-7B-Instruct-Q4_K_M.gguf', 'falcon-h1'],
  ['Jamba', 'AI21-Jamba-Mini-1.7-Q4_K_M.gguf', 'jamba'],
  ['RWKV-7', 'rwkv7-g1-2.9b-Q8_0.gguf', 'rwkv7', 'llama-cpp-rwkv-world'],
  ['RWKV-6', 'rwkv-6-world-7b-Q4_K_M.gguf', 'rwkv6', 'llama-cpp-rwkv-world'],
  ['QRWKV6 32B', 'QRWKV6-32B-Instruct-Q4_K_M.gguf', 'rwkv6qwen2'],
  ['MiniCPM 4', 'MiniCPM4-8B-Q4_K_M.gguf', 'minicpm'],
  ['InternLM 3', 'internlm3-8b-instruct-Q4_K_M.gguf', 'llama'],
  ['Grok 2', 'grok-2-Q4_K_M.gguf', 'grok'],
  ['DeepSeek V3.2', 'DeepSeek-V3.2-Q4_K_M.gguf', 'deepseek32', 'deepseek-ai-DeepSeek-V3.2'],
  ['DeepSeek V4 Flash', 'DeepSeek-V4-Flash-MXFP4.gguf', 'deepseek4', 'deepseek-ai-DeepSeek-V4'],
  ['GLM 5, 5.1, 5.2, 5.3', 'GLM-5-Q4_K_M.gguf', 'glm-dsa'],
  ['MiniMax M3 (texts)', 'MiniMax-M3-Q4_K_M.gguf', 'minimax-m3', 'MiniMax-M3'],
  ['LFM 2.5 8B-A1B', 'LFM2.5-8B-A1B-Q4_K_M.gguf', 'lfm2moe', 'LFM2.5-8B-A1B'],
  ['Granite 4.1', 'granite-4.1-8b-Q4_K_M.gguf', 'granite', 'ibm-granite-granite-4.1'],
  ['Command A with experts', 'command-a-moe-Q4_K_M.gguf', 'cohere2moe', 'Cohere2MoE'],
  [
    'Command R+',
    'c4ai-command-r-plus-08-2024-Q4_K_M.gguf',
    'command-r',
    'CohereForAI-c4ai-command-r-plus-tool_use',
  ],
  ['Spark 2.5', 'Spark2.5-Q4_K_M.gguf', 'spark2_5', 'Spark2.5'],
  ['Solar Open 100B', 'Solar-Open-100B-Q4_K_M.gguf', 'glm4moe', 'upstage-Solar-Open-100B'],
  [
    'Hermes 2 Pro',
    'Hermes-2-Pro-Llama-3-8B-Q4_K_M.gguf',
    'llama',
    'NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use',
  ],
  ['Firefunction 2', 'firefunction-v2-Q4_K_M.gguf', 'llama', 'fireworks-ai-llama-3-firefunction-v2'],
  ['FalconMamba', 'falcon-mamba-7b-instruct-Q4_K_M.gguf', 'mamba'],
  ['BitNet b1.58', 'bitnet_b1_58-3B-TQ2_0.gguf', 'bitnet'],
  ['StarCoder 2', 'starcoder2-7b-Q4_K_M.gguf', 'starcoder2'],
  ['PLaMo 2', 'plamo-2-8b-Q4_K_M.gguf', 'plamo2'],
  ['BLOOM', 'bloomz-7b1-Q4_K_M.gguf', 'bloom'],
  ['Qwen3-Embedding', 'Qwen3-Embedding-0.6B-Q8_0.gguf', 'qwen3'],
  ['Qwen3-Reranker', 'Qwen3-Reranker-0.6B-Q8_0.gguf', 'qwen3'],
  ['bge-reranker-v2-m3', 'bge-reranker-v2-m3-Q8_0.gguf', 'bert'],
  ['BGE, E5, MiniLM', 'bge-large-en-v1.5-q8_0.gguf', 'bert'],
  ['nomic-embed-text 1.5', 'nomic-embed-text-v1.5.Q8_0.gguf', 'nomic-bert'],
  ['nomic-embed-text 2', 'nomic-embed-text-v2-moe.Q8_0.gguf', 'nomic-bert-moe'],
  ['jina-embeddings-v2', 'jina-embeddings-v2-base-en-Q8_0.gguf', 'jina-bert-v2'],
  ['jina-embeddings-v3', 'jina-embeddings-v3-Q8_0.gguf', 'jina-bert-v3'],
  ['granite-embedding R2', 'granite-embedding-english-r2-Q8_0.gguf', 'modern-bert'],
];

/** The text of docs/well-known-models.md. Rejects for an architecture that there is not. */
export async function wellKnownPage(): Promise<string> {
  const rows = await Promise.all(
    WELL_KNOWN.map(async ([model, file, architecture, template]) => {
      const { tools, reasoning } = template ? readTemplate(template) : { tools: '', reasoning: '' };
      const drafts = (await hasPredictor(architecture)) ? 'in the file' : '';
      return `| ${model} | \`${file}\` | \`${architecture}\` | ${tools} | ${reasoning} | ${drafts} |`;
    }),
  );
  return [
    '# Well-known models',
    '',
    'What works with models that people run: their texts, always; tool calls and reasoning, in the dialect of their chat template. The',
    'dialect and the marks of reasoning are those that the template’s text is recognized by, for the models whose template is among',
    'the tests; others’ are recognized in the same way when their file is opened. Names of files are typical ones: publishers differ.',
    '',
    'Every generative model drafts by prompt lookup or with a smaller model of its vocabulary; EAGLE-3 and DFlash drafters and Gemma 4’s assistants',
    'have a file. “In the file”',
    'means that the file may have a block for multi-token prediction, which is then used.',
    '',
    '| model | file, such as | architecture | tool calls | reasoning | drafts |',
    '|---|---|---|---|---|---|',
    ...rows,
    '',
    'Each architecture is compared with llama.cpp on every device: [models.md](models.md). This page is generated by `npm run docs` from',
    'the list in `tests/support/well-known-models.ts`.',
    '',
  ].join('\n');
}

/** The dialect of a template's calls if it offers tools, and the marks of its reasoning if it has any. */
function readTemplate(template: string): { readonly tools: string; readonly reasoning: string } {
  const source = readFileSync(fixture(`chat-templates/${template}.jinja`), 'utf8');
  const { name, thinks, reasoning } = dialectOf(source);
  const marks = [reasoning.open, reasoning.close].map((mark) => `\`${mark.replaceAll('|', '\\|')}\``);
  return {
    tools: /\btools?\b/.test(source) ? name : 'no',
    reasoning: thinks ? marks.join(' ') : 'no',
  };
}

/** Whether files of the architecture may have a block that predicts further tokens: whether one is asked for its tensors. */
async function hasPredictor(architecture: string): Promise<boolean> {
  const { sizes } = FAMILY_FIXTURES.find(({ name }) => name === architecture) ?? { sizes: {} };
  const shape = syntheticShape('tiny', { architecture, ...sizes });
  const family = familyOfVariant({ architecture, metadata: { nextn_predict_layers: count(1) } });
  const { tensors } = await syntheticPlan(
    'tiny',
    { ...shape, layers: shape.layers + 1 },
    { family, format: F32 },
  ).catch(() => ({ tensors: [] }));
  return tensors.some(({ name }) => name.includes('nextn'));
}
