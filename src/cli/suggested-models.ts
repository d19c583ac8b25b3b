/** A well-known model that is worth a first try. */
export interface SuggestedModel {
  /** The repository on the hub; its usual quantization is meant. */
  readonly repo: string;
  /** Weights in billions, and those that a token uses if it does not use all. */
  readonly parameters: string;
  /** The rounded size of the usual quantization, in bytes: for orientation, because `show` asks the hub. */
  readonly bytes: number;
  readonly license: string;
  /** `general.architecture` of its file. */
  readonly architecture: string;
  readonly goodFor: string;
}

const LLAMA_3 = 'Llama 3 Community';
const APACHE = 'Apache 2.0';
const GEMMA = 'Gemma terms';

/** Some twenty models, the smallest first. */
export const SUGGESTED_MODELS: readonly SuggestedModel[] = [
  of(
    'nomic-ai/nomic-embed-text-v1.5-GGUF',
    ['0.14', 84e6],
    [APACHE, 'nomic-bert'],
    'embeddings of English texts',
  ),
  of('unsloth/SmolLM2-135M-Instruct-GGUF', ['0.13', 105e6], [APACHE, 'llama'], 'a first try on any machine'),
  of(
    'unsloth/Qwen3-0.6B-GGUF',
    ['0.6', 397e6],
    [APACHE, 'qwen3'],
    'short answers, tools, drafts for larger Qwen 3',
  ),
  of('unsloth/gemma-3-1b-it-GGUF', ['1', 806e6], [GEMMA, 'gemma3'], 'short answers in many languages'),
  of('bartowski/Llama-3.2-1B-Instruct-GGUF', ['1.2', 808e6], [LLAMA_3, 'llama'], 'short answers, summaries'),
  of('unsloth/Qwen3-1.7B-GGUF', ['1.7', 1.11e9], [APACHE, 'qwen3'], 'reasoning on small machines'),
  of('bartowski/Llama-3.2-3B-Instruct-GGUF', ['3.2', 2.02e9], [LLAMA_3, 'llama'], 'chat, summaries'),
  of('bartowski/Phi-3.5-mini-instruct-GGUF', ['3.8', 2.39e9], ['MIT', 'phi3'], 'chat, long texts'),
  of('unsloth/gemma-3-4b-it-GGUF', ['4', 2.49e9], [GEMMA, 'gemma3'], 'chat in many languages (text only)'),
  of('unsloth/Qwen3-4B-Instruct-2507-GGUF', ['4', 2.5e9], [APACHE, 'qwen3'], 'chat, tools'),
  of(
    'bartowski/DeepSeek-R1-Distill-Qwen-7B-GGUF',
    ['7.6', 4.68e9],
    ['MIT', 'qwen2'],
    'mathematics, step by step',
  ),
  of(
    'bartowski/Qwen2.5-Coder-7B-Instruct-GGUF',
    ['7.6', 4.68e9],
    [APACHE, 'qwen2'],
    'code, and filling it in',
  ),
  of(
    'bartowski/Meta-Llama-3.1-8B-Instruct-GGUF',
    ['8', 4.92e9],
    [LLAMA_3, 'llama'],
    'chat, tools, long texts',
  ),
  of('unsloth/Qwen3-8B-GGUF', ['8.2', 5.03e9], [APACHE, 'qwen3'], 'reasoning, tools'),
  of(
    'bartowski/Mistral-Nemo-Instruct-2407-GGUF',
    ['12', 7.48e9],
    [APACHE, 'llama'],
    'chat in many languages',
  ),
  of('unsloth/Qwen3-14B-GGUF', ['14.8', 9e9], [APACHE, 'qwen3'], 'reasoning, tools'),
  of(
    'ggml-org/gpt-oss-20b-GGUF',
    ['21, 3.6 used', 12.1e9],
    [APACHE, 'gpt-oss'],
    'reasoning, tools; fast for its size',
  ),
  of(
    'unsloth/Qwen3-30B-A3B-Instruct-2507-GGUF',
    ['30.5, 3.3 used', 18.6e9],
    [APACHE, 'qwen3moe'],
    'chat, tools; fast for its size',
  ),
  of('unsloth/Qwen3-32B-GGUF', ['32.8', 19.8e9], [APACHE, 'qwen3'], 'reasoning, tools'),
  of(
    'ggml-org/gpt-oss-120b-GGUF',
    ['117, 5.1 used', 63.4e9],
    [APACHE, 'gpt-oss'],
    'reasoning, tools, on large GPUs',
  ),
];

/** A context of some thousand tokens and the buffers of a step, besides the weights; `rocmforge show` plans it exactly. */
const BESIDE_WEIGHTS = 1.1;
const LEAST_BESIDE = 512 << 20;

/** The memory that a model takes, about. */
export function memoryOf({ bytes }: Pick<SuggestedModel, 'bytes'>): number {
  return Math.max(bytes * BESIDE_WEIGHTS, bytes + LEAST_BESIDE);
}

/** The largest model that fits into so much memory. */
export function largestFitting(free: number): SuggestedModel | undefined {
  return SUGGESTED_MODELS.findLast((model) => memoryOf(model) <= free);
}

function of(
  repo: string,
  [parameters, bytes]: readonly [string, number],
  [license, architecture]: readonly [string, string],
  goodFor: string,
): SuggestedModel {
  return { repo, parameters, bytes, license, architecture, goodFor };
}
