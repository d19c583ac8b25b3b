import { harmless, OF_ACCOUNTS, type OtherFields, refused, TEXT_ONLY } from './other-fields.ts';

const AS_THEY_ARE = 'texts are computed as they are: write the whole text';
const NOT_CUT = 'texts that are too long are refused: shorten them';
const NO_VECTORS = 'this endpoint does not choose how vectors are made';

/**
 * Known fields of requests for embeddings, scores and labels (OpenAI's, vLLM's, llama.cpp's, Ollama's, Text Embeddings Inference's,
 * Jina's and Cohere's) that are not supported unless an endpoint's own schema has them.
 */
export const VECTOR_FIELDS: OtherFields = {
  // OpenAI's.
  dimensions: refused(NO_VECTORS),
  encoding_format: refused('this endpoint writes numbers', 'float'),
  user: OF_ACCOUNTS,

  // vLLM's.
  activation: refused('this field is called use_activation'),
  add_generation_prompt: refused(AS_THEY_ARE, false),
  add_special_tokens: refused('texts get the special tokens of their model', true),
  cache_salt: harmless('nothing of this endpoint’s requests stays in the cache'),
  chat_template: refused(AS_THEY_ARE),
  chat_template_kwargs: refused(AS_THEY_ARE, {}),
  continue_final_message: refused(AS_THEY_ARE, false),
  embed_dtype: refused('values are f32', 'float32'),
  endianness: refused('base64 holds little-endian values', 'native', 'little'),
  instruction: refused('the model’s own template asks the question'),
  messages: refused(AS_THEY_ARE),
  mm_processor_kwargs: TEXT_ONLY,
  normalize: refused('embd_normalize of /v1/embeddings and /embeddings chooses the norm', true),
  priority: refused('only texts that are generated have a priority', 0),
  request_id: harmless('the id of a request is in the header x-request-id'),
  softmax: refused('this field is called use_activation'),
  truncate_prompt_tokens: refused(NOT_CUT),
  truncation_side: harmless('texts are not cut'),
  use_activation: refused('only scores and labels have an activation'),

  // llama.cpp's server's.
  embd_normalize: refused(NO_VECTORS, 2),
  image_data: refused('only text is supported', []),
  pooling: refused(NO_VECTORS),

  // Ollama's.
  options: harmless('they are for texts that are generated'),

  // Text Embeddings Inference's, Jina's and Cohere's.
  embedding_type: refused('this field is called encoding_format', 'float'),
  embedding_types: refused('this field is called encoding_format', ['float']),
  input_type: refused(AS_THEY_ARE),
  late_chunking: refused('each text is computed on its own', false),
  max_chunks_per_doc: refused(NOT_CUT),
  max_tokens_per_doc: refused(NOT_CUT),
  normalized: refused('embd_normalize of /v1/embeddings and /embeddings chooses the norm', true),
  prompt_name: refused(AS_THEY_ARE),
  rank_fields: refused('documents are texts', ['text']),
  return_multivector: refused('the pooling none of /embeddings gives a vector per token', false),
  task: refused(AS_THEY_ARE),
  truncate: refused(NOT_CUT, false),
  truncation_direction: harmless('texts are not cut'),
};
