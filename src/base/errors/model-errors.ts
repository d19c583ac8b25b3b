import { entry } from './entry.ts';

/** What parts of a model's memory are called where their names do not say it. */
const PARTS_OF_MEMORY: Readonly<Record<string, string>> = {
  loading: 'staging for loading',
  host: 'embedding on the host',
  driver: "the driver's own",
};

/** Failures of architectures, plans and sequence state. */
export const modelErrors = {
  ARCHITECTURE_UNKNOWN: entry<{ found: string; known: string }>(
    422,
    'The file names an architecture that rocmforge does not run.',
    'Use a model of one of the listed architectures.',
    (p) => `general.architecture is ${p.found}; known: ${p.known}`,
  ),
  MODEL_TENSOR_MISSING: entry<{ tensor: string; architecture: string }>(
    422,
    'The file lacks a tensor that its architecture needs.',
    'Convert the model again; this file is not complete.',
    (p) => `tensor ${p.tensor}, which ${p.architecture} needs, is not in the file`,
  ),
  MODEL_TENSOR_SHAPE: entry<{ tensor: string; found: string; expected: string }>(
    422,
    'A tensor has another shape than the file’s metadata says.',
    'Convert the model again; its metadata and tensors contradict each other.',
    (p) => `tensor ${p.tensor}: found shape ${p.found}, expected ${p.expected}`,
  ),
  MODEL_CONFIG: entry<{ key: string; found: string; expected: string }>(
    422,
    'A metadata value of the model is missing or out of range.',
    'Convert the model again, or use a model whose metadata is complete.',
    (p) => `${p.key}: found ${p.found}, expected ${p.expected}`,
  ),
  CACHE_TYPE: entry<{ cacheType: string; headSize: number; block: number }>(
    400,
    'The KV cache cannot be stored as asked, because the model’s heads are not whole blocks of that type.',
    'Store the cache in half floats (--cache-type f16).',
    (p) => `a ${p.cacheType} cache holds blocks of ${p.block} elements, the model has heads of ${p.headSize}`,
  ),
  MODEL_TOO_LARGE: entry<{
    needed: string;
    free: string;
    weights: string;
    cache?: string;
    scratch?: string;
    loading?: string;
    host?: string;
    driver?: string;
  }>(
    507,
    'The model with its context does not fit into memory.',
    'Ask for a smaller --context, use a smaller or more strongly quantized model, or free memory.',
    ({ needed, free, ...parts }) => {
      const named = Object.entries(parts).map(([part, bytes]) => `${PARTS_OF_MEMORY[part] ?? part} ${bytes}`);
      return `the model needs ${needed} at least (${named.join(', ')}), ${free} are free`;
    },
  ),
  CONTEXT_OVERFLOW: entry<{ tokens: number; context: number; counted?: boolean }>(
    400,
    'The prompt is longer than the context.',
    'Shorten the prompt or open the model with a larger --context.',
    (p) =>
      `the prompt has ${p.counted === false ? 'at least ' : ''}${p.tokens} tokens, the context holds ${p.context}`,
  ),
  CHECKPOINT_UNALIGNED: entry<{ state: string; bytes: number; alignment: number }>(
    422,
    'Recurrent states of this size cannot be taken back where several sequences generate at once.',
    'Leave out --speculation and --draft, or generate one sequence at a time (--sequences 1).',
    (p) => `${p.state} has ${p.bytes} bytes a sequence, which is no multiple of ${p.alignment}`,
  ),
  EMBEDDING_TIED: entry<{ architecture: string }>(
    422,
    'The head of the model multiplies by the embedding, which therefore has to be on the device.',
    'Leave out --embedding host: nothing would be saved.',
    (p) => `this ${p.architecture} has no output matrix of its own: its embedding cannot stay on the host`,
  ),
  DRAFT_VOCABULARY: entry<{ draft: string; found: string; expected: string }>(
    422,
    'The draft model says other tokens than the model.',
    'Use a smaller model of the same family, whose vocabulary is the same, or --speculation without a draft.',
    (p) => `the vocabulary of the draft ${p.draft}: found ${p.found}, expected ${p.expected}`,
  ),
  DRAFT_UNSUPPORTED: entry<{ model: string; found: string; expected: string }>(
    422,
    'A model of this kind cannot be a draft, or have one.',
    'Leave out --draft, or use a draft with a cache of positions (not RWKV), and no encoders.',
    (p) => `speculation with a draft: ${p.model} has ${p.found}, expected ${p.expected}`,
  ),
  ADAPTER_INVALID: entry<{ adapter: string; found: string; expected: string }>(
    422,
    'An adapter does not fit the model.',
    'Use a LoRA adapter in GGUF that was made for this model.',
    (p) => `adapter ${p.adapter}: found ${p.found}, expected ${p.expected}`,
  ),
  EMBEDDINGS_UNSUPPORTED: entry<{ model: string; found: string; expected: string }>(
    400,
    'Embeddings were asked of a model that continues texts, or of an encoder whose file does not say how rows become one vector.',
    'Use an encoder, such as BERT or nomic-bert; where its file names no pooling, ask for one: mean, last, or the first row (in the library `first`, over HTTP `cls`).',
    (p) => `embeddings of ${p.model}: found ${p.found}, expected ${p.expected}`,
  ),
  GENERATION_UNSUPPORTED: entry<{ model: string }>(
    400,
    'Text was asked of a model that only computes embeddings.',
    'Ask it for embeddings, or use a model that continues texts.',
    (p) => `${p.model} is an encoder and continues no text`,
  ),
  MODEL_UNREAD: entry<{ architecture: string; names: string }>(
    422,
    'The file holds tensors or settings that nothing is computed with, so that its results would not be those it was made for.',
    'Use a file that was converted for this architecture, or a newer rocmforge. Where what is named may be left out, load it with ' +
      '--allow-unread (in the library `allowUnread: true`); `rocmforge inspect` lists all of it.',
    (p) => `of this ${p.architecture}, nothing reads ${p.names}`,
  ),
  LOGITS_NOT_FINITE: entry<{ position: number; where: string }>(
    500,
    'The model computed something that is no number: its file is damaged, or its values grow beyond what the device holds.',
    'Compare the file with its source (a checksum), and load it again if they differ. If they do not, run it on another device ' +
      '(--device cpu); where it fails there too, convert the model again from its weights.',
    (p) =>
      `the logits at position ${p.position} are not finite; the first values that are not come from: ${p.where}`,
  ),
  TOKENS_FORBIDDEN: entry<{ position: number }>(
    400,
    'Every token that could follow was forbidden.',
    'Leave some tokens out of the logit bias, or widen what the grammar allows.',
    (p) =>
      `no token may follow position ${p.position}: mask and logit bias forbid all that the model could say`,
  ),
  PROMPT_EMPTY: entry<Record<string, never>>(
    400,
    'The prompt has no tokens.',
    'Give at least one token of text.',
    () => 'the prompt is empty',
  ),
} as const;
