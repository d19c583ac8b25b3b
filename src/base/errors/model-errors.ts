import { entry } from './entry.ts';

/** Names of the parts of a model's memory that are not self-explanatory. */
const PARTS_OF_MEMORY: Readonly<Record<string, string>> = {
  loading: 'staging for loading',
  host: 'embedding on the host',
  driver: "the driver's own",
  experts: 'experts in pinned host memory, see --host-memory',
};

/** Failures of architectures, plans and sequence state. */
export const modelErrors = {
  ARCHITECTURE_UNKNOWN: entry<{ found: string; why: string | undefined; known: string }>(
    422,
    'The file’s architecture is not supported.',
    'Use a model of one of the listed architectures.',
    ({ found, why, known }) =>
      `general.architecture is ${found}${why === undefined ? '' : `, ${why}`}; known: ${known}`,
  ),
  MODEL_TENSOR_MISSING: entry<{ tensor: string; architecture: string }>(
    422,
    'The file lacks a tensor that its architecture needs.',
    'Convert the model again; this file is incomplete.',
    (p) => `tensor ${p.tensor}, which ${p.architecture} needs, is not in the file`,
  ),
  MODEL_TENSOR_SHAPE: entry<{ tensor: string; found: string; expected: string }>(
    422,
    'The shape of a tensor contradicts the file’s metadata.',
    'Convert the model again; its metadata and tensors contradict each other.',
    (p) => `tensor ${p.tensor}: found shape ${p.found}, expected ${p.expected}`,
  ),
  MODEL_CONFIG: entry<{ key: string; found: string; expected: string }>(
    422,
    'A metadata value of the model is missing or out of range.',
    'Convert the model again, or use a model whose metadata is complete.',
    (p) => `${p.key}: found ${p.found}, expected ${p.expected}`,
  ),
  ADAPTER_ROOM: entry<{ adapter: string; most: number }>(
    409,
    'There is no room for another LoRA adapter.',
    'Unload an adapter, or load the model with room for more (--max-loras).',
    (p) => `adapter ${p.adapter}: the model has room for ${p.most} in total`,
  ),
  STATE_INVALID: entry<{ found: string; expected: string }>(
    400,
    'A file is not a saved state of this model.',
    'Restore states only into the model that saved them, opened with the same type of KV cache; save a damaged one again.',
    (p) => `saved state: found ${p.found}, expected ${p.expected}`,
  ),
  CACHE_TYPE: entry<{ cacheType: string; headSize: number; block: number }>(
    400,
    'The KV cache cannot use this type, because the model’s head size is not a multiple of its blocks.',
    'Use an f16 cache (--cache-type f16).',
    (p) => `a ${p.cacheType} cache holds blocks of ${p.block} elements, the model has heads of ${p.headSize}`,
  ),
  MODEL_TOO_LARGE: entry<{
    place?: string;
    needed: string;
    free: string;
    weights?: string;
    experts?: string;
    cache?: string;
    scratch?: string;
    loading?: string;
    host?: string;
    driver?: string;
  }>(
    507,
    'The model with its context does not fit into memory.',
    'Use a smaller --context, a smaller or more strongly quantized model, or free memory.',
    ({ place = 'the model', needed, free, ...parts }) => {
      const named = Object.entries(parts).map(([part, bytes]) => `${PARTS_OF_MEMORY[part] ?? part} ${bytes}`);
      return `${place} needs ${needed} at least (${named.join(', ')}), ${free} are free`;
    },
  ),
  CONTEXT_OVERFLOW: entry<{ tokens: number; context: number; counted?: boolean }>(
    400,
    'The prompt is longer than the context.',
    'Shorten the prompt or open the model with a larger --context.',
    (p) =>
      `the prompt of ${p.counted === false ? 'at least ' : ''}${p.tokens} tokens is too large: it exceeds the available context size of ${p.context}`,
  ),
  CHECKPOINT_UNALIGNED: entry<{ state: string; bytes: number; alignment: number }>(
    422,
    'Recurrent states of this size cannot be rolled back when several sequences run at once.',
    'Leave out --speculation and --draft, or generate one sequence at a time (--sequences 1).',
    (p) => `${p.state} has ${p.bytes} bytes a sequence, which is no multiple of ${p.alignment}`,
  ),
  EMBEDDING_TIED: entry<{ architecture: string }>(
    422,
    'The model has tied embeddings: its head multiplies by the embedding, which must therefore be on the device.',
    'Leave out --embedding host: nothing would be saved.',
    (p) => `this ${p.architecture} model has tied embeddings: its embedding cannot stay on the host`,
  ),
  DRAFT_VOCABULARY: entry<{ draft: string; found: string; expected: string }>(
    422,
    'The draft model has a different vocabulary.',
    'Use a smaller model of the same family with the same vocabulary, or --speculation without a draft model.',
    (p) => `the vocabulary of the draft ${p.draft}: found ${p.found}, expected ${p.expected}`,
  ),
  DRAFT_UNSUPPORTED: entry<{ model: string; found: string; expected: string }>(
    422,
    'A model of this kind cannot be a draft model, or use one.',
    'Leave out --draft, or use a draft model without recurrent layers (not RWKV). Encoders cannot use drafts, --draft mtp needs a file with nextn_predict_layers, and a drafter one that was trained for the model (EAGLE-3, DFlash, Gemma 4’s assistants).',
    (p) => `speculation with a draft: ${p.model} has ${p.found}, expected ${p.expected}`,
  ),
  ADAPTER_INVALID: entry<{ adapter: string; found: string; expected: string }>(
    422,
    'An adapter does not fit the model.',
    'Use a LoRA adapter in GGUF that was made for this model.',
    (p) => `adapter ${p.adapter}: found ${p.found}, expected ${p.expected}`,
  ),
  CONTROL_VECTOR_INVALID: entry<{ file: string; found: string; expected: string }>(
    422,
    'A control vector cannot be read, or does not fit the model.',
    'Use a control vector in GGUF that was made for this model, as llama-cvector-generator writes them.',
    (p) => `control vector ${p.file}: found ${p.found}, expected ${p.expected}`,
  ),
  EMBEDDINGS_UNSUPPORTED: entry<{ model: string; found: string; expected: string }>(
    400,
    'Embeddings were requested from a model that generates or ranks, or from one whose file names no pooling.',
    'Use an embedding model, such as BERT or Qwen3-Embedding, or open the model with a --pooling: mean, last, or the first row (`cls`; in the library `first`). If only the file names none, a request can do so as well.',
    (p) => `embeddings of ${p.model}: found ${p.found}, expected ${p.expected}`,
  ),
  RANKING_UNSUPPORTED: entry<{ model: string; found: string }>(
    400,
    'Documents were to be ranked, or a text classified, by a model without a classifier.',
    'Use a reranker, such as bge-reranker or Qwen3-Reranker. If its file does not say that it ranks, open it with --pooling rank.',
    (p) => `ranking with ${p.model}: found ${p.found}, expected a model with a classifier`,
  ),
  GENERATION_UNSUPPORTED: entry<{ model: string }>(
    400,
    'Text was requested from a model that only computes embeddings or scores.',
    'Request embeddings or a ranking, use a generative model, or open this one without --pooling.',
    (p) => `${p.model} computes embeddings or scores here and cannot generate text`,
  ),
  MODEL_UNREAD: entry<{ architecture: string; names: string }>(
    422,
    'The file has tensors or settings that rocmforge does not use, so its results would be wrong.',
    'Use a file that was converted for this architecture, or a newer rocmforge. If they can safely be ignored, load the file with ' +
      '--allow-unread (in the library `allowUnread: true`); `rocmforge inspect` lists all of them.',
    (p) => `unused in this ${p.architecture} model: ${p.names}`,
  ),
  LOGITS_NOT_FINITE: entry<{ position: number; where: string }>(
    500,
    'The model computed NaN or infinity: its file is damaged, or its values overflow on this device.',
    'Compare the file’s checksum with its source, and download it again if they differ. Otherwise run it on another device ' +
      '(--device cpu); if it fails there, too, convert the model again from its original weights.',
    (p) =>
      `the logits at position ${p.position} are not finite; the first values that are not come from: ${p.where}`,
  ),
  IMPORTANCE_MISSING: entry<{ tensor: string; format: string; mix: string }>(
    422,
    'A format of so few bits needs an importance matrix.',
    'Give one with --imatrix, or choose a mix of more bits.',
    (p) => `${p.mix}: tensor ${p.tensor} in ${p.format} is useless without an importance matrix`,
  ),
  IMPORTANCE_MISMATCH: entry<{ tensor: string; found: string; expected: string }>(
    422,
    'The importance matrix is not of this model.',
    'Make one of this model.',
    (p) => `importance of ${p.tensor}: found ${p.found}, expected ${p.expected}`,
  ),
  ALREADY_QUANTIZED: entry<{ tensor: string; found: string; expected: string }>(
    422,
    'The file is quantized already: quantizing it again loses more than the original would.',
    'Start from an F32, F16 or BF16 file, or accept the loss with --requantize.',
    (p) => `tensor ${p.tensor} is in ${p.found}, and would be quantized again as ${p.expected}`,
  ),
  WEIGHTS_NOT_FINITE: entry<{ tensor: string; element: number }>(
    422,
    'A tensor holds NaN or infinity.',
    'Compare the file’s checksum with its source; if they agree, convert the model again from its original weights.',
    (p) => `tensor ${p.tensor}: element ${p.element} is not finite`,
  ),
  TOKENS_FORBIDDEN: entry<{ position: number }>(
    400,
    'No token is allowed to follow.',
    'Remove tokens from the logit bias, or loosen the grammar.',
    (p) => `no token may follow position ${p.position}: token mask and logit bias forbid all of them`,
  ),
  PROMPT_EMPTY: entry<Record<string, never>>(
    400,
    'The prompt has no tokens.',
    'Give at least one token of text.',
    () => 'the prompt is empty',
  ),
} as const;
